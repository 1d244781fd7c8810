"""Peers of the benchmark that live in Python: numpy, numba, jax, onnxruntime and torch, as far as they are installed.

Reads lines and answers them; see peer.rs for the protocol. The cases are those of the workloads in Rust, by name. Every
library gets its help: outputs that exist beforehand where it can write into them, weights that it may rearrange once.
"""

import argparse
import importlib
import os
import sys
import time

threads = argparse.ArgumentParser()
threads.add_argument("--threads", type=int, default=1)
threads = threads.parse_args().threads

# Libraries write to standard output as they please: the answers go to a copy of it.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
if threads == 1 and hasattr(os, "sched_setaffinity"):
    # jax counts the cores that it may use.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is the least that is needed")

EPSILON = 1e-5
GELU = (2 / np.pi) ** 0.5
SQUARE = {f"matmul {n}": n for n in (256, 512, 1024, 2048)}
SKINNY = {f"matmul {m} x 4096 x 4096": m for m in (1, 8, 64)}
SOFTMAX = {f"softmax {m} x {n}": (m, n) for m, n in ((4096, 1024), (128, 32768), (64, 128))}
ELEMENTS = {"1M": 1 << 20, "64K": 1 << 16}
ATTENTION = {"attention 8 x 1024 x 64": False, "attention 8 x 1024 x 64 causal": True}
BYTES = "matmul i8 in, 1024"
DECODE = "attention decode 8 x 4096 x 64"

random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape, dtype=np.float32)


def integers(limit, *shape, dtype=np.int32):
    return random.integers(0, limit, shape).astype(dtype)


def empty(*shape):
    return np.zeros(shape, np.float32)


def with_numpy():
    """Expressions on whole arrays; results go into arrays that exist."""
    cases = {}

    def product(m, k, n):
        a, b, c = normal(m, k), normal(k, n), empty(m, n)
        return lambda: np.matmul(a, b, out=c)

    for name, n in SQUARE.items():
        cases[name] = lambda n=n: product(n, n, n)
    for name, m in SKINNY.items():
        cases[name] = lambda m=m: product(m, 4096, 4096)

    def softmax(m, n):
        x, y = normal(m, n), empty(m, n)

        def call():
            np.subtract(x, x.max(axis=1, keepdims=True), out=y)
            np.exp(y, out=y)
            np.divide(y, y.sum(axis=1, keepdims=True), out=y)

        return call

    for name, shape in SOFTMAX.items():
        cases[name] = lambda shape=shape: softmax(*shape)

    def reduction(axis):
        x = normal(4096, 4096)
        return lambda: x.sum(axis=axis)

    cases["row_sum 4096 x 4096"] = lambda: reduction(1)
    cases["col_sum 4096 x 4096"] = lambda: reduction(0)

    def decode():
        q, k, v = normal(8, 1, 64), normal(8, 4096, 64), normal(8, 4096, 64)
        k_turned = k.transpose(0, 2, 1)

        def call():
            scores = q @ k_turned * np.float32(0.125)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            return scores @ v

        return call

    cases[DECODE] = decode

    def transpose():
        x, y = normal(4096, 4096), empty(4096, 4096)
        return lambda: np.copyto(y, x.T)

    cases["transpose 4096 x 4096"] = transpose

    def embedding():
        table, ids, y = normal(32000, 768), integers(32000, 512), empty(512, 768)
        return lambda: np.take(table, ids, axis=0, out=y, mode="clip")

    cases["embedding 512 of 32000 x 768"] = embedding

    def histogram():
        x = integers(256, 1 << 20)
        return lambda: np.bincount(x, minlength=256)

    cases["histogram 1M, 256 bins"] = histogram

    def sort():
        x, y = normal(1024, 1024), empty(1024, 1024)

        def call():
            np.copyto(y, x)
            y.sort(axis=1)

        return call

    cases["sort rows 1024 x 1024"] = sort

    def top():
        x = normal(1024, 1024)
        return lambda: np.sort(np.partition(x, 1024 - 32, axis=1)[:, 1024 - 32 :], axis=1)

    cases["top 32 of rows 1024 x 1024"] = top

    def warm():
        x, y = normal(64), empty(64)
        return lambda: np.add(x, np.float32(1), out=y)

    cases["warm call, 64 elements"] = warm
    return cases


def with_numba():
    """Loops that are compiled; sums may be reordered, which its vectorizer needs."""
    from numba import njit, prange, set_num_threads

    set_num_threads(threads)
    compiled = njit(parallel=threads > 1, fastmath=True)
    f32 = np.float32
    width = 1024
    cases = {}

    @compiled
    def rms(x, gamma, y):
        for i in prange(x.shape[0]):
            total = f32(0)
            for j in range(width):
                total += x[i, j] * x[i, j]
            factor = f32(1) / np.sqrt(total / f32(width) + f32(EPSILON))
            for j in range(width):
                y[i, j] = x[i, j] * factor * gamma[j]

    @compiled
    def layer(x, gamma, beta, y):
        for i in prange(x.shape[0]):
            total = f32(0)
            for j in range(width):
                total += x[i, j]
            mean = total / f32(width)
            squares = f32(0)
            for j in range(width):
                squares += (x[i, j] - mean) * (x[i, j] - mean)
            factor = f32(1) / np.sqrt(squares / f32(width) + f32(EPSILON))
            for j in range(width):
                y[i, j] = (x[i, j] - mean) * factor * gamma[j] + beta[j]

    @compiled
    def row_sums(x, y):
        for i in prange(x.shape[0]):
            total = f32(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            y[i] = total

    @compiled
    def sweep(x, y):
        for i in prange(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i, j] = f32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @njit(parallel=threads > 1)
    def count(x, parts):
        for part in prange(parts.shape[0]):
            parts[part] = 0
            size = x.size // parts.shape[0]
            for i in range(part * size, (part + 1) * size):
                parts[part, x[i]] += 1

    @compiled
    def embed(table, ids, y):
        for i in prange(ids.size):
            y[i] = table[ids[i]]

    @njit(fastmath=True)
    def affine(x, y):
        for i in range(x.size):
            y[i] = x[i] * f32(2) + f32(1)

    def norm(kernel, weights):
        x, y = normal(4096, width), empty(4096, width)
        weights = [normal(width) for _ in range(weights)]
        return lambda: kernel(x, *weights, y)

    cases["rms_norm 4096 x 1024"] = lambda: norm(rms, 1)
    cases["layer_norm 4096 x 1024"] = lambda: norm(layer, 2)

    def row_sum():
        x, y = normal(4096, 4096), empty(4096)
        return lambda: row_sums(x, y)

    cases["row_sum 4096 x 4096"] = row_sum

    def stencil():
        x = normal(2048, 2048)
        y, z = x.copy(), x.copy()

        def call():
            sweep(x, z)
            for step in range(1, 10):
                sweep(z, y) if step % 2 else sweep(y, z)

        return call

    cases["stencil 2048 x 2048, 10 sweeps"] = stencil

    def histogram():
        x, parts = integers(256, 1 << 20), np.zeros((threads, 256), np.int32)

        def call():
            count(x, parts)
            return parts.sum(axis=0)

        return call

    cases["histogram 1M, 256 bins"] = histogram

    def embedding():
        table, ids, y = normal(32000, 768), integers(32000, 512), empty(512, 768)
        return lambda: embed(table, ids, y)

    cases["embedding 512 of 32000 x 768"] = embedding

    def warm():
        x, y = normal(64), empty(64)
        return lambda: affine(x, y)

    cases["warm call, 64 elements"] = warm
    return cases


def with_jax():
    """Functions compiled by XLA."""
    import jax
    import jax.numpy as jnp

    def case(function, make):
        def build():
            arguments = [jnp.asarray(array) for array in make()]
            compiled = jax.jit(function)
            return lambda: compiled(*arguments).block_until_ready()

        return build

    cases = {}
    for name, n in SQUARE.items():
        cases[name] = case(jnp.matmul, lambda n=n: (normal(n, n), normal(n, n)))
    for name, m in SKINNY.items():
        cases[name] = case(jnp.matmul, lambda m=m: (normal(m, 4096), normal(4096, 4096)))
    for name, dtype in (("f16", jnp.float16), ("bf16", jnp.bfloat16)):
        cases[f"matmul {name} 1024"] = case(
            lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32),
            lambda dtype=dtype: [jnp.asarray(normal(1024, 1024), dtype) for _ in "ab"],
        )
    cases[BYTES] = case(
        lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.int32),
        lambda: [integers(256, 1024, 1024, dtype=np.int8) for _ in "ab"],
    )
    for name, shape in SOFTMAX.items():
        cases[name] = case(lambda x: jax.nn.softmax(x, axis=-1), lambda shape=shape: [normal(*shape)])

    def rms(x, gamma):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gamma

    def layer(x, gamma, beta):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * gamma + beta

    cases["rms_norm 4096 x 1024"] = case(rms, lambda: (normal(4096, 1024), normal(1024)))
    cases["layer_norm 4096 x 1024"] = case(layer, lambda: (normal(4096, 1024), normal(1024), normal(1024)))
    for size, n in ELEMENTS.items():
        cases[f"gelu_tanh {size}"] = case(lambda x: jax.nn.gelu(x, approximate=True), lambda n=n: [normal(n)])
        cases[f"swiglu {size}"] = case(lambda g, u: jax.nn.silu(g) * u, lambda n=n: (normal(n), normal(n)))

    def chain(x):
        t = x * 1.5 + 0.25
        return jnp.exp(-(t * t)) * jnp.tanh(x) + jnp.sqrt(jnp.abs(x))

    cases["chain 32K"] = case(chain, lambda: [normal(1 << 15)])
    cases["ffn 512 x 768 x 3072"] = case(
        lambda x, w1, b1, w2, b2: jax.nn.gelu(x @ w1 + b1, approximate=True) @ w2 + b2,
        lambda: (normal(512, 768), normal(768, 3072), normal(3072), normal(3072, 768), normal(768)),
    )
    for name, causal in ATTENTION.items():
        cases[name] = case(
            lambda q, k, v, causal=causal: jax.nn.dot_product_attention(q, k, v, is_causal=causal),
            lambda: [normal(1, 1024, 8, 64) for _ in "qkv"],
        )
    cases[DECODE] = case(
        lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2) * 0.125, axis=-1) @ v,
        lambda: (normal(8, 1, 64), normal(8, 4096, 64), normal(8, 4096, 64)),
    )
    cases["row_sum 4096 x 4096"] = case(lambda x: x.sum(1), lambda: [normal(4096, 4096)])
    cases["col_sum 4096 x 4096"] = case(lambda x: x.sum(0), lambda: [normal(4096, 4096)])
    cases["transpose 4096 x 4096"] = case(lambda x: x.T + 0, lambda: [normal(4096, 4096)])

    def stencil(x):
        def sweep(_, x):
            inner = x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
            return x.at[1:-1, 1:-1].set(0.2 * inner)

        return jax.lax.fori_loop(0, 10, sweep, x)

    cases["stencil 2048 x 2048, 10 sweeps"] = case(stencil, lambda: [normal(2048, 2048)])
    cases["embedding 512 of 32000 x 768"] = case(
        lambda table, ids: jnp.take(table, ids, axis=0), lambda: (normal(32000, 768), integers(32000, 512))
    )
    cases["histogram 1M, 256 bins"] = case(
        lambda x: jnp.bincount(x, length=256), lambda: [integers(256, 1 << 20)]
    )
    cases["sort rows 1024 x 1024"] = case(lambda x: jnp.sort(x, axis=1), lambda: [normal(1024, 1024)])
    cases["top 32 of rows 1024 x 1024"] = case(lambda x: jax.lax.top_k(x, 32)[0], lambda: [normal(1024, 1024)])
    cases["warm call, 64 elements"] = case(lambda x: x * 2 + 1, lambda: [normal(64)])
    return cases


def with_onnxruntime():
    """A model for each case, its inputs and outputs bound; weights are constants of the model, which it may pack once."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    types = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int32": TensorProto.INT32,
             "int64": TensorProto.INT64, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8}  # fmt: skip

    def case(nodes, make):
        """`make` gives inputs, constants and outputs as dictionaries."""

        def build():
            inputs, constants, outputs = make()
            info = lambda arrays: [
                helper.make_tensor_value_info(name, types[str(array.dtype)], array.shape) for name, array in arrays.items()
            ]
            weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
            made = [
                helper.make_node(op, read.split(), written.split(), **attributes) for op, read, written, attributes in nodes
            ]
            graph = helper.make_graph(made, "case", info(inputs), info(outputs), weights)
            opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
            model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            binding = session.io_binding()
            bound = {}
            for name, array in {**inputs, **outputs}.items():
                bound[name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
                bind = binding.bind_ortvalue_input if name in inputs else binding.bind_ortvalue_output
                bind(name, bound[name])
            return lambda bound=bound: session.run_with_iobinding(binding)

        return build

    microsoft = {"domain": "com.microsoft"}
    cases = {}

    def product(m, k, n, dtype=np.float32):
        arrays = lambda: ({"a": normal(m, k).astype(dtype)}, {"b": normal(k, n).astype(dtype)},
                          {"c": empty(m, n).astype(dtype)})  # fmt: skip
        return case([("MatMul", "a b", "c", {})], arrays)

    for name, n in SQUARE.items():
        cases[name] = product(n, n, n)
    for name, m in SKINNY.items():
        cases[name] = product(m, 4096, 4096)
    cases["matmul f16 1024"] = product(1024, 1024, 1024, np.float16)
    # A twentieth of the speed where both are signed.
    cases[BYTES] = case(
        [("MatMulInteger", "a b", "c", {})],
        lambda: (
            {"a": integers(256, 1024, 1024, dtype=np.uint8)},
            {"b": integers(256, 1024, 1024, dtype=np.int8)},
            {"c": np.zeros((1024, 1024), np.int32)},
        ),
    )
    for name, (m, n) in SOFTMAX.items():
        cases[name] = case(
            [("Softmax", "x", "y", {"axis": -1})], lambda m=m, n=n: ({"x": normal(m, n)}, {}, {"y": empty(m, n)})
        )
    norm = {"axis": -1, "epsilon": EPSILON}
    cases["rms_norm 4096 x 1024"] = case(
        [("SimplifiedLayerNormalization", "x g", "y", norm)],
        lambda: ({"x": normal(4096, 1024)}, {"g": normal(1024)}, {"y": empty(4096, 1024)}),
    )
    cases["layer_norm 4096 x 1024"] = case(
        [("LayerNormalization", "x g b", "y", norm)],
        lambda: ({"x": normal(4096, 1024)}, {"g": normal(1024), "b": normal(1024)}, {"y": empty(4096, 1024)}),
    )
    for size, n in ELEMENTS.items():
        cases[f"gelu_tanh {size}"] = case(
            [("Gelu", "x", "y", {"approximate": "tanh"})], lambda n=n: ({"x": normal(n)}, {}, {"y": empty(n)})
        )
        cases[f"swiglu {size}"] = case(
            [("QuickGelu", "g", "s", {"alpha": 1.0, **microsoft}), ("Mul", "s u", "y", {})],
            lambda n=n: ({"g": normal(n), "u": normal(n)}, {}, {"y": empty(n)}),
        )
    chain = [("Mul", "x a", "ax", {}), ("Add", "ax b", "t", {}), ("Mul", "t t", "tt", {}), ("Neg", "tt", "n", {}),
             ("Exp", "n", "e", {}), ("Tanh", "x", "h", {}), ("Mul", "e h", "eh", {}), ("Abs", "x", "m", {}),
             ("Sqrt", "m", "r", {}), ("Add", "eh r", "y", {})]  # fmt: skip
    cases["chain 32K"] = case(
        chain, lambda: ({"x": normal(1 << 15)}, {"a": np.float32([1.5]), "b": np.float32([0.25])}, {"y": empty(1 << 15)})
    )
    ffn = [("MatMul", "x w1", "p", {}), ("Add", "p b1", "q", {}), ("Gelu", "q", "h", {"approximate": "tanh"}),
           ("MatMul", "h w2", "r", {}), ("Add", "r b2", "y", {})]  # fmt: skip
    weights = lambda: {"w1": normal(768, 3072), "b1": normal(3072), "w2": normal(3072, 768), "b2": normal(768)}
    cases["ffn 512 x 768 x 3072"] = case(ffn, lambda: ({"x": normal(512, 768)}, weights(), {"y": empty(512, 768)}))

    def attention(queries, keys, causal):
        """One operator that takes batch, position and all heads."""
        arrays = lambda: (
            {"q": normal(1, queries, 512), "k": normal(1, keys, 512), "v": normal(1, keys, 512)},
            {},
            {"o": empty(1, queries, 512)},
        )
        attributes = {"num_heads": 8, "unidirectional": int(causal), **microsoft}
        return case([("MultiHeadAttention", "q k v", "o", attributes)], arrays)

    for name, causal in ATTENTION.items():
        cases[name] = attention(1024, 1024, causal)
    cases[DECODE] = attention(1, 4096, False)
    for name, axis, shape in (("row_sum", 1, 4096), ("col_sum", 0, 4096)):
        cases[f"{name} 4096 x 4096"] = case(
            [("ReduceSum", "x axes", "y", {"keepdims": 0})],
            lambda axis=axis: ({"x": normal(4096, 4096)}, {"axes": np.int64([axis])}, {"y": empty(4096)}),
        )
    cases["transpose 4096 x 4096"] = case(
        [("Transpose", "x", "y", {"perm": [1, 0]})], lambda: ({"x": normal(4096, 4096)}, {}, {"y": empty(4096, 4096)})
    )
    cases["embedding 512 of 32000 x 768"] = case(
        [("Gather", "table ids", "y", {"axis": 0})],
        lambda: ({"ids": integers(32000, 512, dtype=np.int64)}, {"table": normal(32000, 768)}, {"y": empty(512, 768)}),
    )
    for name, k in (("sort rows", 1024), ("top 32 of rows", 32)):
        cases[f"{name} 1024 x 1024"] = case(
            [("TopK", "x k", "y at", {"axis": 1})],
            lambda k=k: (
                {"x": normal(1024, 1024)},
                {"k": np.int64([k])},
                {"y": empty(1024, k), "at": np.zeros((1024, k), np.int64)},
            ),
        )
    cases["warm call, 64 elements"] = case(
        [("Add", "x one", "y", {})], lambda: ({"x": normal(64)}, {"one": np.float32([1])}, {"y": empty(64)})
    )
    return cases


def with_torch():
    """Eager operators, with outputs that exist where they take one."""
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    made = lambda *shape: torch.from_numpy(normal(*shape))

    def case(function, *shapes):
        def build():
            arguments = [made(*shape) for shape in shapes]
            return lambda: function(*arguments)

        return build

    def into(function, result, *shapes):
        def build():
            arguments, y = [made(*shape) for shape in shapes], torch.empty(result)
            return lambda: function(*arguments, out=y)

        return build

    cases = {}
    for name, n in SQUARE.items():
        cases[name] = into(torch.mm, (n, n), (n, n), (n, n))
    for name, m in SKINNY.items():
        cases[name] = into(torch.mm, (m, 4096), (m, 4096), (4096, 4096))
    for name, shape in SOFTMAX.items():
        cases[name] = case(lambda x: torch.softmax(x, -1), shape)
    rows, width = (4096, 1024), (1024,)
    cases["rms_norm 4096 x 1024"] = case(lambda x, g: functional.rms_norm(x, width, g, EPSILON), rows, width)
    cases["layer_norm 4096 x 1024"] = case(
        lambda x, g, b: functional.layer_norm(x, width, g, b, EPSILON), rows, width, width
    )
    for size, n in ELEMENTS.items():
        cases[f"gelu_tanh {size}"] = case(lambda x: functional.gelu(x, approximate="tanh"), (n,))
        cases[f"swiglu {size}"] = case(lambda g, u: functional.silu(g) * u, (n,), (n,))
    cases["chain 32K"] = case(
        lambda x: torch.exp(-((x * 1.5 + 0.25) ** 2)) * torch.tanh(x) + torch.sqrt(torch.abs(x)), (1 << 15,)
    )
    cases["ffn 512 x 768 x 3072"] = case(
        lambda x, w1, b1, w2, b2: torch.addmm(
            b2, functional.gelu(torch.addmm(b1, x, w1), approximate="tanh"), w2
        ),
        (512, 768), (768, 3072), (3072,), (3072, 768), (768,),
    )  # fmt: skip
    heads = [(1, 8, 1024, 64)] * 3
    for name, causal in ATTENTION.items():
        cases[name] = case(
            lambda q, k, v, causal=causal: functional.scaled_dot_product_attention(q, k, v, is_causal=causal), *heads
        )
    cases[DECODE] = case(functional.scaled_dot_product_attention, (1, 8, 1, 64), *[(1, 8, 4096, 64)] * 2)
    cases["row_sum 4096 x 4096"] = case(lambda x: x.sum(1), (4096, 4096))
    cases["col_sum 4096 x 4096"] = case(lambda x: x.sum(0), (4096, 4096))
    cases["transpose 4096 x 4096"] = case(lambda x, y: y.copy_(x.t()), (4096, 4096), (4096, 4096))

    def sweeps(x, y, z):
        y.copy_(x)
        z.copy_(x)
        for _ in range(10):
            inner = z[1:-1, 1:-1]
            torch.add(y[1:-1, 1:-1], y[:-2, 1:-1], out=inner)
            inner += y[2:, 1:-1]
            inner += y[1:-1, :-2]
            inner += y[1:-1, 2:]
            inner *= 0.2
            y, z = z, y
        return y

    cases["stencil 2048 x 2048, 10 sweeps"] = case(sweeps, *[(2048, 2048)] * 3)

    def embedding():
        table, ids = made(32000, 768), torch.from_numpy(integers(32000, 512, dtype=np.int64))
        return lambda: functional.embedding(ids, table)

    cases["embedding 512 of 32000 x 768"] = embedding

    def histogram():
        x = torch.from_numpy(integers(256, 1 << 20))
        return lambda: torch.bincount(x, minlength=256)

    cases["histogram 1M, 256 bins"] = histogram
    cases["sort rows 1024 x 1024"] = case(lambda x: torch.sort(x, dim=1, descending=True), (1024, 1024))
    cases["top 32 of rows 1024 x 1024"] = case(lambda x: torch.topk(x, 32, dim=1), (1024, 1024))
    cases["warm call, 64 elements"] = into(lambda x, out: torch.add(x, 1.0, out=out), (64,), (64,))
    return cases


def found():
    """Cases of each library that can be imported."""
    # Files of their own that use the functions above.
    from first_calls import first_calls
    from transformer import layers

    libraries = {"numpy": with_numpy, "numba": with_numba, "jax": with_jax, "onnxruntime": with_onnxruntime,
                 "torch": with_torch}  # fmt: skip
    result = {}
    for name, cases in libraries.items():
        try:
            made = {**cases(), **layers(name, threads), **first_calls(name)}
            result[name, importlib.import_module(name).__version__] = made
        except ImportError:
            pass
    return {name: cases for (name, _), cases in result.items()}, " ".join(f"{n} {v}" for n, v in result)


def samples(call, milliseconds):
    """Seconds a call; on one thread the CPU time of the process where that is less than the time that passed. A call that
    measures itself gives its seconds."""
    if getattr(call, "measures", False):
        result, end = [call()], time.perf_counter() + milliseconds / 1e3
        while time.perf_counter() < end:
            result.append(call())
        return result
    # By batches, as the first call fills caches and tells too little.
    batch = 1
    while batch < 1 << 14:
        start = time.perf_counter()
        for _ in range(batch):
            call()
        if time.perf_counter() - start >= 1e-4:
            break
        batch *= 2
    result, end = [], time.perf_counter() + milliseconds / 1e3
    while not result or time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(batch):
            call()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        result.append((min(wall, cpu) if threads == 1 else wall) / batch)
    return result


def serve():
    libraries, versions = found()
    print("ready", versions, file=answers)
    prepared = {}
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        if command == "prepare":
            prepared = {}
            for name, cases in libraries.items():
                if rest in cases:
                    try:
                        prepared[name] = cases[rest]()
                        prepared[name]()
                    except Exception as error:  # whatever a library raises: it does not take part
                        prepared.pop(name, None)
                        print(f"{name}: {rest}: {error!r}", file=sys.stderr)
            print("contenders", *prepared, file=answers)
        elif command == "sample":
            name, milliseconds = rest.split()
            try:
                print("samples", *(f"{s:.9e}" for s in samples(prepared[name], float(milliseconds))), file=answers)
            except Exception as error:  # the same
                print("failed", repr(error), file=answers)
        else:
            print("failed", f"unknown command {command}", file=answers)


serve()
