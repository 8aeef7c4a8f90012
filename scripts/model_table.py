#!/usr/bin/env python3
"""Writes the table of model windows and prices that Kinfolk embeds.

    pip download --no-deps -d target/litellm litellm==1.110.2
    python3 scripts/model_table.py target/litellm/litellm-*.whl

It takes the chat models of the large providers out of LiteLLM's published table, keeps what a
profile needs, and writes `actors/src/profile/models.json`: one model a line, sorted, prices as
exact decimal strings of dollars a token. Only the standard library is needed.
"""

import argparse
import datetime
import json
import pathlib
import re
import sys
import zipfile
from decimal import Decimal

TABLE = "litellm/model_prices_and_context_window_backup.json"
OUT = pathlib.Path(__file__).parent.parent / "actors/src/profile/models.json"

# The source's provider names, ours, and how the names of that provider's own models begin. What
# it hosts for others is left out.
PROVIDERS = {
    "openai": ("openai", ""),
    "anthropic": ("anthropic", "claude"),
    "gemini": ("gemini", "gemini-(?!gemma)"),
    "mistral": ("mistral", "mistral|ministral|magistral|devstral|codestral|pixtral"),
    "deepseek": ("deepseek", "deepseek"),
    "xai": ("xai", "grok"),
    "groq": ("groq", ""),
    "cohere_chat": ("cohere", "command"),
    "moonshot": ("moonshot", "kimi"),
    "zai": ("zai", "glm"),
    "dashscope": ("dashscope", "qwen|qwq"),
    "minimax": ("minimax", "MiniMax"),
}

# Models that are no plain chat models, by a part of their name.
OTHER_WORK = re.compile(
    r"^ft:|audio|search|tts|robotics|lyria|realtime|research|computer-use|vision-exp|voxtral|omni"
    r"|guard|container|-fim-|experimental|-exp-|beta|customtools|rosalind|daybreak|cyber|-law"
    r"|vibe|labs|multi-agent|-gv2|-vl-|qwen3-next|moonshot-v1|chat-latest$"
)

# A version by its date, or the newest one: `model-2025-01-31`, `model-20250131`, `model-latest`.
VERSION = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")

# How long a retired model stays in the table, in days.
RETIRED = 180

# The longest reply that is asked for unless a family says otherwise: longer ones are rare, and
# the room set aside for a reply is taken from the history.
MOST_RESPONSE = 32_000

PRICES = {
    "input": "input_cost_per_token",
    "cached_input": "cache_read_input_token_cost",
    "cache_write_5m": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "output": "output_cost_per_token",
    "reasoning": "output_cost_per_reasoning_token",
}


def decimal(price):
    """A price as the shortest plain decimal text, exact to the picodollar."""
    price = Decimal(price)
    rounded = price.quantize(Decimal("1e-12"))
    if abs(price - rounded) > Decimal("1e-15"):
        sys.exit(f"the price {price} is finer than a picodollar; the table can't hold it")
    text = format(rounded, "f").rstrip("0").rstrip(".")
    return text or "0"


def priced(row, suffix=""):
    """The prices of one tier. Input and output are needed. A zero says nothing: the source has it
    for what is free, for what it does not know, and for what has no price of its own."""
    read = {ours: row.get(theirs + suffix) for ours, theirs in PRICES.items()}
    found = {ours: decimal(price) for ours, price in read.items() if price and Decimal(price) > 0}
    return found if "input" in found and "output" in found else None


def prices(row):
    """All prices of a model, or nothing where the source has none or several steps."""
    if "tiered_pricing" in row:
        return None
    found = priced(row)
    if found is None:
        return None
    tiers = [re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", key) for key in row]
    sizes = sorted(int(tier[1]) for tier in tiers if tier)
    if len(sizes) > 1:
        return None
    for size in sizes:
        tier = priced(row, f"_above_{size}k_tokens")
        hour = row.get(f"cache_creation_input_token_cost_above_1hr_above_{size}k_tokens")
        if tier is None:
            return None
        if hour:
            tier["cache_write_1h"] = decimal(hour)
        found["long_context"] = {"over": size * 1000, **tier}
    return found


def profile(row, provider):
    """What Kinfolk keeps of a row."""
    window = int(row["max_input_tokens"])
    most = int(row.get("max_output_tokens") or MOST_RESPONSE)
    kept = {"window": window, "response": min(most, MOST_RESPONSE, window // 4)}
    found = prices(row)
    if found:
        kept["prices"] = found
    # OpenAI's reasoning models answer a temperature with an error; the source does not say so.
    refused = provider == "openai" and row.get("supports_reasoning")
    if refused or row.get("supports_sampling_params") is False:
        kept["sampling"] = "refused"
    return kept


def wanted(name, row, oldest):
    """Whether a row is a chat model with tools of one of the providers, not long retired."""
    _, own = PROVIDERS.get(row.get("litellm_provider"), (None, "$."))
    return (
        re.match(own, name)
        and row.get("mode") in ("chat", "responses")
        and row.get("max_input_tokens")
        and row.get("supports_function_calling")
        and not OTHER_WORK.search(name)
        and row.get("deprecation_date", "9999") > oldest
    )


def trimmed(source, oldest):
    """The table: full names and profiles, without versions that equal their undated name."""
    table = {}
    for key, row in source.items():
        name = key.split("/", 1)[-1] if "/" in key else key
        if wanted(name, row, oldest):
            provider, _ = PROVIDERS[row["litellm_provider"]]
            table[f"{provider}:{name}"] = profile(row, provider)
    same = lambda name: table.get(VERSION.sub("", name)) == table[name] and VERSION.search(name)
    return {name: table[name] for name in sorted(table) if not same(name)}


def read(wheel):
    """The source table, its version and its licence, out of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        source = json.loads(archive.read(TABLE), parse_float=Decimal)
        licence = next(name for name in archive.namelist() if name.endswith("licenses/LICENSE"))
        notice = archive.read(licence).decode().split("---\n", 1)[-1].strip()
    version = pathlib.Path(wheel).name.split("-")[1]
    return source, version, notice


def main():
    parser = argparse.ArgumentParser(description="Writes Kinfolk's table of model prices.")
    parser.add_argument("wheel", help="the downloaded wheel of litellm")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="YYYY-MM-DD")
    options = parser.parse_args()
    source, version, notice = read(options.wheel)
    oldest = datetime.date.fromisoformat(options.date) - datetime.timedelta(days=RETIRED)
    table = trimmed(source, oldest.isoformat())
    head = {"source": "litellm", "version": version, "taken": options.date, "notice": notice}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    rows = [f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items()]
    models = ",\n".join(rows)
    text = "\n".join(["{", *lines, '  "models": {', models, "  }", "}", ""])
    OUT.write_text(text)
    print(f"{len(table)} models of litellm {version} are in {OUT}")


if __name__ == "__main__":
    main()
