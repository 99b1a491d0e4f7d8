"""No telemetry: the switches of libraries that would otherwise send usage data to their makers.

Most libraries read their switch while they are imported, so `docmill` sets all switches before it imports anything. The
child processes of docmill inherit them.
"""

import os

SWITCHES = {
    "DO_NOT_TRACK": "1",  # Prefect's client, huggingface_hub and unstructured
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, a dependency of magika, from 1.29 on; its function would be too late
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and transformers
    "SCARF_NO_ANALYTICS": "1",  # unstructured
    "UNSTRUCTURED_DISABLE_NOTICE": "1",  # unstructured's notice about its telemetry
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "RAY_USAGE_STATS_ENABLED": "0",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # litellm would download a list of prices during its import
}
"""The variables that turn off each library's telemetry. Values set by the user are kept."""
_OFFLINE = "HF_HUB_OFFLINE"


def switch_telemetry_off() -> None:
    """Set the switches that are not set; an empty value counts as not set."""
    for name, value in SWITCHES.items():
        os.environ[name] = os.environ.get(name) or value


def stay_offline() -> bool:
    """Keep huggingface_hub from the network unless the user has set HF_HUB_OFFLINE=0; return whether it stays offline.

    This is not one of the switches, because an application that imports docmill may download other models.
    """
    os.environ[_OFFLINE] = os.environ.get(_OFFLINE) or "1"
    return os.environ[_OFFLINE].upper() not in ("0", "FALSE", "NO", "OFF")
