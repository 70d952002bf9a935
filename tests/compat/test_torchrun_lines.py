# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Command lines of torchrun, as documents of its users have them, given to torchrun and to dtrain-run. Oracle: torchrun's ranks: their
variables, working folder, arguments and how the job ends. What may differ is in MAY_DIFFER and STATUS and in docs/torchrun.md.

Scripts are replaced by one that tells what it was given; numbers of processes are cut to 3."""
import json
import os
import pathlib
import re
import shlex

import pytest

from conftest import jobs

RUN = jobs.BUILD / "src" / "bin" / "dtrain-run"
SCRIPT = r"""
import json, os, sys
kept = ("TORCH", "MASTER_", "GROUP_", "ROLE_", "LOCAL_", "RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES")
told = {"env": {k: v for k, v in os.environ.items() if k.startswith(kept)}, "argv": sys.argv, "cwd": os.getcwd(),
        "main": __name__, "package": __package__, "executable": os.path.basename(sys.executable),
        "buffered": not sys.stdout.write_through}
with open(f"told.{os.environ['RANK']}.{os.environ.get('TORCHELASTIC_RESTART_COUNT')}", "w") as file:
    json.dump(told, file)
if "--fail" in sys.argv and os.environ["RANK"] == "1":
    sys.exit(3)
if "--fail-once" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(3)
"""
# torchrun's store, signals and temporary folder are its own; see docs/torchrun.md.
MAY_DIFFER = {"TORCHELASTIC_SIGNALS_TO_HANDLE", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE", "MASTER_ADDR"}
LINES = """
--nproc_per_node=3 train.py --model alexnet --lr 1e-2
--nproc_per_node=3 train.py --model inception_v3 --test-only --weights Inception_V3_Weights.IMAGENET1K_V1
--nproc_per_node=3 train.py --model mobilenet_v2 --epochs 300 --lr 0.045 --wd 0.00004 --lr-step-size 1 --lr-gamma 0.98
--nproc_per_node=3 train.py --model vit_b_16 --epochs 300 --batch-size 512 --opt adamw --lr 0.003 --wd 0.3 --lr-scheduler cosineannealinglr --lr-warmup-method linear --amp --label-smoothing 0.11 --auto-augment ra --clip-grad-norm 1 --ra-sampler --cutmix-alpha 1.0 --model-ema
--nproc_per_node=3 train.py --dataset coco --model fasterrcnn_resnet50_fpn --epochs 26 --lr-steps 16 22 --aspect-ratio-group-factor 3 --weights-backbone ResNet50_Weights.IMAGENET1K_V1
--nproc_per_node=3 train.py --lr 0.02 --dataset coco -b 4 --model fcn_resnet50 --aux-loss --weights-backbone ResNet50_Weights.IMAGENET1K_V1
--nproc_per_node 3 train.py --train-dataset chairs --batch-size 2 --lr 0.0004 --crop-size 368 496
--nproc_per_node 2 train_stereo.py --steps 70000 --datasets sceneflow-monkaa
--standalone --nproc_per_node=gpu multigpu_torchrun.py 50 10
--standalone --nproc_per_node=2 train.py --batch_size=32 --compile=False
--standalone --nproc-per-node=1 train.py
--nnodes=1 --nproc-per-node=3 train.py (--arg1 ... train script args...)
--nnodes=1 --nproc_per_node=2 --max-restarts=3 --rdzv-id=77 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 train.py --arg
--nnodes=1:1 --nproc-per-node=2 --rdzv_id=100 --rdzv_backend=c10d --rdzv_endpoint=localhost:29471 elastic_ddp.py
--nnodes 1 --nproc_per_node 2 --node_rank 0 --master_addr 127.0.0.1 --master_port 29472 train.py --arg1
--nproc_per_node=2 --nnodes=1 --node_rank=0 --master_addr="localhost" --master_port=29473 pretrain_gpt.py --num-layers 24 --hidden-size 1024
--nproc_per_node 2 --nnodes 1 --rdzv_id 456 --rdzv_backend c10d --rdzv_endpoint localhost:29474 run_clm.py --fp16
--nproc_per_node=2 --rdzv_backend c10d --rdzv_endpoint="localhost:0" --local-ranks-filter 0 --role rank --tee 3 -m package.train --job.config_file ./train_configs/debug_model.toml
--nproc_per_node=2 --rdzv_backend c10d --rdzv_endpoint=localhost:0 --local-ranks-filter "0" --role rank --tee 3 -m package.train --help
--nproc_per_node 1 example_chat_completion.py --ckpt_dir llama-2-7b-chat/ --tokenizer_path tokenizer.model --max_seq_len 512 --max_batch_size 6
--nproc_per_node 2 example_text_completion.py --ckpt_dir llama-2-7b/ --tokenizer_path tokenizer.model
--nproc_per_node 3 pytorch/run_glue.py --model_name_or_path google-bert/bert-large-uncased-whole-word-masking --task_name mnli --do_train --do_eval --max_seq_length 128 --per_device_train_batch_size 8 --output_dir /tmp/mnli_output/
--nproc_per_node 3 pytorch/run_squad.py --version_2_with_negative --num_train_epochs 2 --doc_stride 128
--nproc_per_node=2 examples/nlp_example.py --mixed_precision fp16
--nproc_per_node 2 ./nlp_example.py --cpu
--nproc_per_node 2 --nnodes 1 --node_rank 0 --rdzv_conf is_host=1,timeout=60 --rdzv_id a --rdzv_backend c10d --rdzv_endpoint localhost:29475 cv_example.py --data_dir path_to_data
--nproc_per_node=2 train.py --strategy ddp --trainer.devices 2
--nproc_per_node=2 --no-python bash -c 'exec "$PYTHON_EXEC" train.py "$0"' with-blank\\ inside
--no_python --nproc_per_node 2 "$PYTHON_EXEC" -u train.py --no_python
--no-python "$PYTHON_EXEC" -m package.train
-m --nproc_per_node 2 package.train -m package
--module package.train --module
--run-path --nproc_per_node 2 "$PWD/train.py" --x
--nproc_per_node 2 --role trainer train.py
--nproc_per_node 2 --start-method fork --monitor-interval 0.5 train.py
--nproc_per_node 2 --start_method=spawn --monitor_interval=5 train.py
--nproc_per_node 2 --log-dir logs -r 3 train.py
--nproc_per_node 2 --log_dir logs --redirects 0:1,1:2 --tee 1:3 train.py
--nproc_per_node 2 --log-dir logs -r3 -t 3 train.py
--nproc_per_node 2 --max_restarts 0 train.py --fail
--nproc_per_node 2 --max-restarts=1 train.py --fail
--nproc_per_node 2 --max_restarts 1 train.py --fail-once
--nproc_per_node 2 --max_restarts 2 --rdzv_id r train.py --fail-once
--nproc_per_node 2 --local-addr 127.0.0.1 train.py
--nproc_per_node 2 --rdzv_endpoint localhost:29476 train.py
--nproc_per_node 2 --signals-to-handle SIGTERM,SIGINT --shutdown-timeout 5 train.py
--nproc_per_node cpu train.py
--nproc_per_node auto train.py
--nproc_per_node 2 -- train.py --after-dashes
--nproc_per_node 2 train.py -- --nproc_per_node 5
--nproc_per_node 2 train.py "" "a  b" 'quo"te' $'line\\nend'
--nproc_per_node 2 --virtual-local-rank train.py
--nproc_per_node 0 train.py
--nnodes 0 train.py
--nnodes 2:1 train.py
--nproc_per_node two train.py
--rdzv_backend nothing train.py
--tee 7 train.py
--local-ranks-filter a train.py
--nproc_per_node 2 gone.py
--no-such-option train.py
--no-python --module train.py
--nproc_per_node 2
"""
PRESET = {"PET_NPROC_PER_NODE": "3", "PET_RDZV_ID": "preset", "PET_MAX_RESTARTS": "2"}


def started(framework, job, name, program, line, env=None):
    """Exit status and what the ranks told, in a folder of this name."""
    folder = job.folder / name
    for script in ("train.py", "multigpu_torchrun.py", "train_stereo.py", "elastic_ddp.py", "pretrain_gpt.py", "run_clm.py",
                   "example_chat_completion.py", "example_text_completion.py", "pytorch/run_glue.py", "pytorch/run_squad.py",
                   "examples/nlp_example.py", "nlp_example.py", "cv_example.py", "package/train.py", "package/__init__.py"):
        path = folder / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if script.endswith("__init__.py") else SCRIPT)
    temporary = job.folder / f"{name[0]}"
    temporary.mkdir()
    line = line.replace("(--arg1 ... train script args...)", "--arg1")
    variables = {"PYTHON_EXEC": framework.python, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **(env or {})}
    done = job.run("bash", "-c", f"cd {shlex.quote(str(folder))} && {program} {line}", env=variables, timeout=240)
    told = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("told.*"))}
    return done, told


def comparable(told, folder, line):
    """What a rank told without what may differ, and paths without where the test runs."""
    text = json.dumps(told).replace(str(folder), "FOLDER")
    out = json.loads(text)
    for name in MAY_DIFFER:
        out["env"].pop(name, None)
    if not re.search("master_port|rdzv_endpoint.*:29", line):
        assert int(out["env"].pop("MASTER_PORT")) > 0
    if "rdzv" not in line and "PET" not in line:
        assert out["env"].pop("TORCHELASTIC_RUN_ID")
    return out


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(torch, job, line):
    compare(torch, job, line)


def test_preset(torch, job):
    compare(torch, job, "train.py --PET --rdzv", PRESET)


def compare(torch, job, line, env=None):
    torchrun = pathlib.Path(torch.python).parent / "torchrun"
    theirs, their_ranks = started(torch, job, "torchrun", torchrun, line, env)
    ours, our_ranks = started(torch, job, "dtrain-run", RUN, line, env)
    assert (ours.returncode == 0) == (theirs.returncode == 0), (ours.stderr, theirs.stderr)
    if not their_ranks:
        # A wrong command line: one line in place of a traceback, and status 2.
        assert not our_ranks and ours.returncode == 2 and ours.stderr.count("\n") == 1, ours.stderr
        return
    if "--fail" in shlex.split(line):
        assert (ours.returncode, theirs.returncode) == (3, 1), "the rank's own status, not 1"
        # A rank that is stopped may not have begun.
        their_ranks, our_ranks = ({name: rank for name, rank in ranks.items() if name.startswith("told.1")}
                                  for ranks in (their_ranks, our_ranks))
    assert our_ranks.keys() == their_ranks.keys()
    for name, rank in their_ranks.items():
        mine, their = (comparable(of_rank, job.folder / program, line)
                       for of_rank, program in ((our_ranks[name], "dtrain-run"), (rank, "torchrun")))
        mine_env, their_env = mine.pop("env"), their.pop("env")
        assert {key: (mine_env.get(key), their_env.get(key)) for key in mine_env.keys() | their_env.keys()
                if mine_env.get(key) != their_env.get(key)} == {}, "(dtrain-run, torchrun)"
        assert mine == their


def test_lines_are_many():
    assert len(LINES.strip().splitlines()) > 50 and os.access(RUN, os.X_OK)
