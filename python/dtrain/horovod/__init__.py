# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""Scripts of Horovod over dtrain:

    import dtrain.horovod.torch as hvd  # in place of: import horovod.torch as hvd
"""
