# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A script of transformers' Trainer over the back end of argv[1]: a GPT-2 of 2 layers. Prints the loss, as both back ends must
have it.

On CPUs Trainer knows no back end but gloo (and MPI); it takes the process group that is there."""
import sys

import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

import dtrain.torch  # noqa: F401  # it registers the back end


class Counting(torch.utils.data.Dataset):
    """Texts that count on."""

    def __len__(self):
        return 64

    def __getitem__(self, i):
        tokens = (torch.arange(12) + i) % 32
        return {"input_ids": tokens, "labels": tokens}


dist.init_process_group(sys.argv[1])
set_seed(7)
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_positions=16, n_embd=32, n_layer=2, n_head=2))
arguments = TrainingArguments(output_dir=sys.argv[2], use_cpu=True, max_steps=12, per_device_train_batch_size=4, learning_rate=1e-2,
                              gradient_accumulation_steps=2, report_to=[], save_strategy="steps", save_steps=12,
                              disable_tqdm=True, seed=7)
trainer = Trainer(model=model, args=arguments, train_dataset=Counting(), eval_dataset=Counting())
trained = trainer.train()
evaluated = trainer.evaluate()
if trainer.is_world_process_zero():
    print(f"{dist.get_backend()} {arguments.world_size} ranks: loss {trained.training_loss:.6f}, afterwards "
          f"{evaluated['eval_loss']:.6f}", flush=True)
dist.destroy_process_group()
