"""No telemetry: the switches of the libraries that would otherwise report their use to their makers.

Most libraries read their switch while they are imported, so `docmill` sets all of them before it imports anything. The
child processes of docmill inherit them.
"""

import os

SWITCHES = {
    "DO_NOT_TRACK": "1",  # Prefect's client, huggingface_hub and unstructured
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which magika brings, from 1.29 on; its own function comes too late
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and transformers
    "SCARF_NO_ANALYTICS": "1",  # unstructured
    "UNSTRUCTURED_DISABLE_NOTICE": "1",  # what unstructured prints about its telemetry
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # litellm would fetch a list of prices while it is imported
}
"""What turns off each library's telemetry. A value that the user has set stays."""
_OFFLINE = "HF_HUB_OFFLINE"


def switch_telemetry_off() -> None:
    """Set the switches that are not set; an empty value counts as none."""
    for name, value in SWITCHES.items():
        os.environ[name] = os.environ.get(name) or value


def stay_offline() -> bool:
    """Keep huggingface_hub from the network unless the user has set HF_HUB_OFFLINE=0; return whether it stays offline.

    Not part of the switches: an application that imports docmill may download models of its own.
    """
    os.environ[_OFFLINE] = os.environ.get(_OFFLINE) or "1"
    return os.environ[_OFFLINE].upper() not in ("0", "FALSE", "NO", "OFF")
