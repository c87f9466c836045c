"""The switches that only `zookeeper-reconfiguration` has: repairs of what 3.5.0 to 3.9.5 do."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from zabcheck.zookeeper.model.switches import ZooKeeperSwitches

_ONLY = "only of the protocol zookeeper-reconfiguration: "


class ReconfigurationSwitches(ZooKeeperSwitches, frozen=True):
    """The switches of a run of ZooKeeper whose configuration changes; the defaults are what ZooKeeper does."""

    uptodate: Literal["seen", "active"] = "seen"
    newleader: Literal["seen", "both"] = "seen"
    epochs: Literal["active", "both"] = "active"
    pending: Literal["file", "history"] = "file"
    kept: Literal["first", "any"] = "first"
    folder: Literal["writable", "full"] = "writable"
    outsiders: Literal["followers", "observers", "unlogged", "saved"] = "followers"
    observed: Literal["counted", "ignored"] = "counted"
    addresses: Literal["kept", "changed", "checked"] = "kept"

    @property
    def changes_roles(self) -> bool:
        return self.outsiders != "followers"

    meanings: ClassVar[Mapping[str, str]] = {
        **ZooKeeperSwitches.meanings,
        "uptodate": _ONLY + "at UPTODATE a learner activates the configuration that NEWLEADER named, the one that its "
        "leader has seen last (seen: 3.5.0 to 3.9.5), or the one that is active at the leader (active: a repair)",
        "newleader": _ONLY + "NEWLEADER names the configuration that the leader has seen last (seen: 3.5.0 to 3.9.5), "
        "or also the active one, which the learner activates at once (both: a repair)",
        "epochs": _ONLY + "an epoch and its initial history take a quorum of the active configuration (active: 3.5.0 "
        "to 3.9.5), or also one of the configuration that is pending (both: a repair)",
        "pending": _ONLY + "a leader completes the change that its file names (file: 3.5.0 to 3.9.5), or only if its "
        "history has it (history: a repair)",
        "kept": _ONLY
        + "a learner that is being synchronised activates a change that is committed if that is the first "
        "proposal that it keeps (first: 3.5.3 to 3.9.5), or whichever it is (any: a repair)",
        "folder": _ONLY + "a server can write its configurations to their folder (writable), or goes on without (full)",
        "outsiders": _ONLY
        + "servers outside of the active configuration follow without a vote (followers), or observe "
        "(observers), and log nothing of what they are told while they serve (unlogged: syncEnabled=false), but write "
        "a snapshot before they become voters (saved: a repair)",
        "observed": _ONLY
        + "an observer that is to be a voter counts where its ACK of NEWLEADER does, although it logs "
        "nothing before (counted: 3.5.10 to 3.9.5), or does not (ignored: a repair)",
        "addresses": _ONLY
        + "a change gives no server another address for its followers (kept), or all of them, so that "
        "a leader never leads on, and perhaps nobody does (changed), which is refused if the leader is all of it "
        "(checked: a repair)",
    }
