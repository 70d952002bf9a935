# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A script of Lightning over the back end of argv[1]. Prints the loss, as both back ends must have it."""
import sys

import lightning
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset

import dtrain.torch  # noqa: F401  # it registers the back end


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(),
                                          torch.nn.Linear(32, 2))

    def loss(self, batch):
        features, classes = batch
        return torch.nn.functional.cross_entropy(self.layers(features), classes)

    def training_step(self, batch, _number):
        loss = self.loss(batch)
        self.log("train", loss, sync_dist=True)
        return loss

    def validation_step(self, batch, _number):
        self.log("loss", self.loss(batch), sync_dist=True)

    def on_validation_end(self):
        gathered = self.all_gather(torch.tensor([float(self.global_rank)]))
        assert gathered.flatten().tolist() == list(range(self.trainer.world_size)), gathered

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.02)


lightning.seed_everything(7)
inputs = torch.randn(250, 16)
data = TensorDataset(inputs, (inputs.sum(1) > 0).long())
trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy=DDPStrategy(process_group_backend=sys.argv[1]), max_epochs=3,
                            sync_batchnorm=False, gradient_clip_val=1.0, accumulate_grad_batches=2, logger=False,
                            enable_checkpointing=True, default_root_dir=sys.argv[2], enable_progress_bar=False)
trainer.fit(Classifier(), DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=8))
if trainer.is_global_zero:
    print(f"{dist.get_backend()} {trainer.world_size} ranks: loss {trainer.callback_metrics['loss']:.6f}", flush=True)
dist.destroy_process_group()
