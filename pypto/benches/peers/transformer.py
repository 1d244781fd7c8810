"""A layer of a small transformer, as transformer.rs has it: 2 sentences of 17 tokens, 384 features, 12 heads."""

import numpy as np

NAME = "minilm layer, 2 x 17 tokens"
BATCH, TOKENS, FEATURES, HEADS = 2, 17, 384, 12
WIDTH, HIDDEN, EPSILON = FEATURES // HEADS, 4 * FEATURES, 1e-12
LINEAR = {"q": (FEATURES, FEATURES), "k": (FEATURES, FEATURES), "v": (FEATURES, FEATURES), "o": (FEATURES, FEATURES),
          "up": (FEATURES, HIDDEN), "down": (HIDDEN, FEATURES)}  # fmt: skip


def layers(library, threads):
    """The case of a library."""
    made = {"numpy": with_numpy, "jax": with_jax, "onnxruntime": with_onnxruntime, "torch": with_torch}
    return {NAME: lambda: made[library](threads)} if library in made else {}


def weights():
    random = np.random.default_rng(2)
    normal = lambda *shape: random.standard_normal(shape, dtype=np.float32)
    result = {"x": normal(BATCH * TOKENS, FEATURES)}
    for name, shape in LINEAR.items():
        result[f"w_{name}"], result[f"b_{name}"] = normal(*shape) / np.float32(shape[0] ** 0.5), normal(shape[1])
    for name in ("g1", "n1", "g2", "n2"):
        result[name] = normal(FEATURES)
    return result


def layer(np, erf, softmax, w):
    """In the functions that numpy and jax share."""
    linear = lambda x, name: x @ w[f"w_{name}"] + w[f"b_{name}"]
    heads = lambda x: x.reshape(BATCH, TOKENS, HEADS, WIDTH).transpose(0, 2, 1, 3)

    def norm(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * g + b

    x = w["x"]
    q, k, v = (heads(linear(x, name)) for name in "qkv")
    context = softmax(q @ k.swapaxes(-1, -2) * np.float32(WIDTH**-0.5)) @ v
    context = context.transpose(0, 2, 1, 3).reshape(BATCH * TOKENS, FEATURES)
    attended = norm(linear(context, "o") + x, w["g1"], w["n1"])
    up = linear(attended, "up")
    hidden = np.float32(0.5) * up * (1 + erf(up * np.float32(0.5**0.5)))
    return norm(linear(hidden, "down") + attended, w["g2"], w["n2"])


def with_numpy(_threads):
    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def erf(x):
        """By Abramowitz and Stegun, 7.1.26: numpy has none."""
        t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
        factors = [np.float32(f) for f in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
        sum = factors[0]
        for factor in factors[1:]:
            sum = sum * t + factor
        return np.copysign(1 - sum * t * np.exp(-x * x), x)

    w = weights()
    return lambda: layer(np, erf, softmax, w)


def with_jax(_threads):
    import jax
    import jax.numpy as jnp

    w = {name: jnp.asarray(array) for name, array in weights().items()}
    compiled = jax.jit(lambda w: layer(jnp, jax.scipy.special.erf, lambda x: jax.nn.softmax(x, -1), w))
    return lambda: compiled(w).block_until_ready()


def with_torch(threads):
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(threads)
    w = {name: torch.from_numpy(array) for name, array in weights().items()}
    turned = {name: w[f"w_{name}"].t().contiguous() for name in LINEAR}
    linear = lambda x, name: functional.linear(x, turned[name], w[f"b_{name}"])
    heads = lambda x: x.view(BATCH, TOKENS, HEADS, WIDTH).transpose(1, 2)
    norm = lambda x, g, b: functional.layer_norm(x, (FEATURES,), w[g], w[b], EPSILON)

    def call():
        x = w["x"]
        context = functional.scaled_dot_product_attention(*(heads(linear(x, name)) for name in "qkv"))
        context = context.transpose(1, 2).reshape(BATCH * TOKENS, FEATURES)
        attended = norm(linear(context, "o") + x, "g1", "n1")
        return norm(linear(functional.gelu(linear(attended, "up")), "down") + attended, "g2", "n2")

    return call


def with_onnxruntime(threads):
    """One model, as exporters and its optimizer for transformers write it."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants = [], weights()
    x = constants.pop("x")
    add = lambda op, read, written, **attributes: nodes.append(
        helper.make_node(op, read.split(), [written], **attributes)
    )

    def linear(read, name):
        add("MatMul", f"{read} w_{name}", f"{name}_product")
        add("Add", f"{name}_product b_{name}", name)

    constants["rows"] = np.int64([BATCH * TOKENS, FEATURES])
    constants["tokens"] = np.int64([BATCH, TOKENS, FEATURES])
    for name in "qkv":
        linear("x", name)
        add("Reshape", f"{name} tokens", f"{name}3")
    add("MultiHeadAttention", "q3 k3 v3", "context3", num_heads=HEADS, domain="com.microsoft")
    add("Reshape", "context3 rows", "context")
    linear("context", "o")
    add("Add", "o x", "residual")
    add("LayerNormalization", "residual g1 n1", "attended", axis=-1, epsilon=EPSILON)
    linear("attended", "up")
    add("Gelu", "up", "hidden")
    linear("hidden", "down")
    add("Add", "down attended", "sum")
    add("LayerNormalization", "sum g2 n2", "y", axis=-1, epsilon=EPSILON)

    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape)
    made = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "layer", [info("x")], [info("y")], made)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding, y = session.io_binding(), np.zeros_like(x)
    bound = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in (x, y)]
    binding.bind_ortvalue_input("x", bound[0])
    binding.bind_ortvalue_output("y", bound[1])
    return lambda bound=bound: session.run_with_iobinding(binding)
