"""What the first call of a function that jax compiles costs beyond a later one, in CPU time: without and with its cache on
disk. The process is ready: jax is imported and has compiled other functions. Other libraries have no such step, or take
tenths of seconds."""

import tempfile
import time

import numpy as np


def first_calls(library):
    """The cases of a library."""
    if library != "jax":
        return {}
    import jax
    import jax.numpy as jnp

    random = np.random.default_rng(1)
    cases = {
        "swiglu 64K": (lambda g, u: jax.nn.silu(g) * u, [(1 << 16,)] * 2),
        "softmax 4096 x 1024": (lambda x: jax.nn.softmax(x, axis=-1), [(4096, 1024)]),
        "matmul 512": (jnp.matmul, [(512, 512)] * 2),
    }
    result = {}
    for name, (function, shapes) in cases.items():
        result[f"first call: {name}"] = lambda f=function, s=shapes: measured(jax, random, f, s, None)
        on_disk = f"first call, on disk: {name.removesuffix(' 4096 x 1024')}"
        result[on_disk] = lambda f=function, s=shapes: measured(jax, random, f, s, tempfile.TemporaryDirectory())
    return result


def measured(jax, random, function, shapes, directory):
    """A call that gives the seconds of a first call."""
    from jax.experimental.compilation_cache import compilation_cache

    arguments = [jax.numpy.asarray(random.standard_normal(shape, dtype=np.float32)) for shape in shapes]

    def once():
        start = time.process_time()
        compiled(*arguments).block_until_ready()
        return time.process_time() - start

    def call():
        nonlocal compiled
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.config.update("jax_compilation_cache_dir", directory.name if directory else None)
        compilation_cache.reset_cache()
        jax.clear_caches()
        # A function of its own, which jax has not seen.
        compiled = jax.jit(lambda *given: function(*given))
        first = once()
        seconds = max(first - min(once() for _ in range(5)), 0.0)
        jax.config.update("jax_compilation_cache_dir", None)
        compilation_cache.reset_cache()
        return seconds

    compiled = None
    call.measures = True
    return call
