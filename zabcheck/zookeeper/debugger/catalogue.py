"""The named places in ZooKeeper's threads, by class, method and call.

Line numbers differ from version to version, and so do methods around them; the calls of a method, and their order,
seldom do. So a name means the same in every version, or the version lacks the place, and a message says so.

The text of a point is what its thread does there, with the step of DSN 2011 where there is one.
"""

from typing import Literal, NamedTuple

from zabcheck.zookeeper.debugger.class_path import SERVER

MAIN = "QuorumPeer"
"""The server's main thread: it elects, synchronises with the leader, and then reads its packets; or it leads."""
LOGGING = "SyncThread"
"""SyncRequestProcessor: appends to the log, and forces it to the disk."""
DELIVERING = "CommitProcessor"
"""Applies what is committed, itself or in a thread CommitProcWorkThread."""
HANDLER = "LearnerHandler"
"""The leader's thread for one learner, which reads its packets."""
SENDER = "Sender"
"""The leader's other thread for one learner, which sends it packets."""
ANY = "any"
"""More than one thread passes here."""

Moment = Literal["entry", "before", "after"]


class Point(NamedTuple):
    """A place: where `method` begins, or right before or after it calls one of `callees`.

    `method` is "quorum.Learner.readPacket", below org.apache.zookeeper.server, or begins with "org."; its parameters
    stand behind it where only one of several methods of that name is meant ("shutdown(Z)"). A callee is
    "Learner.writePacket". `also` names a method of the same class that has the call in other versions. `which` of the
    calls is meant, from 0, or -1 for the last; every one of them if it is None.
    """

    name: str
    thread: str
    what: str
    method: str
    moment: Moment = "entry"
    callees: tuple[str, ...] = ()
    which: int | None = None
    also: str = ""

    @property
    def class_name(self) -> str:
        """The class, with slashes ("org/apache/zookeeper/server/quorum/Learner")."""
        name = self.method.partition("(")[0].rpartition(".")[0].replace(".", "/")
        return name if name.startswith("org/") else SERVER + name

    @property
    def method_name(self) -> str:
        """The method, without its parameters."""
        return self.method.partition("(")[0].rpartition(".")[2]

    @property
    def parameters(self) -> str:
        """The beginning of the method's descriptor: "(Z)", or "(" if any method of that name is meant."""
        return "(" + self.method.partition("(")[2]


def _calls(callees: str) -> tuple[str, ...]:
    return tuple(callees.split(" or "))


_REGISTER = "quorum.Learner.registerWithLeader"
_SYNC = "quorum.Learner.syncWithLeader"
_RUN = "SyncRequestProcessor.run"
_FLUSH = "SyncRequestProcessor.flush"
_HANDLE = "quorum.LearnerHandler.run"
_SET_ACCEPTED, _SET_CURRENT = "quorum.QuorumPeer.setAcceptedEpoch", "quorum.QuorumPeer.setCurrentEpoch"
_APPEND, _COMMIT = "persistence.FileTxnLog.append", "persistence.FileTxnLog.commit"
_SNAPSHOT = "persistence.FileSnap.serialize(Lorg/apache/zookeeper/server/DataTree;Ljava/util/Map;Ljava/io/File;Z)"
_REPLACE = "org.apache.zookeeper.common.AtomicFileOutputStream.close"
"""Writes a file of an epoch, or a snapshot that has to be on the disk: first under another name."""

_LEARNER = (
    Point(
        "learner-register", MAIN, "the follower begins to tell the leader its accepted epoch (CEPOCH, f.1.1)",
        _REGISTER,
    ),
    Point(
        "learner-promise", MAIN, "LEADERINFO is read, and the accepted epoch not yet written (f.1.1)",
        _REGISTER, "before", _calls("QuorumPeer.setAcceptedEpoch"), 0,
    ),
    Point(
        "learner-promised", MAIN, "the accepted epoch is on the disk, and ACKEPOCH not sent (f.1.1)",
        _REGISTER, "after", _calls("QuorumPeer.setAcceptedEpoch"), 0,
    ),
    Point(
        "learner-ack-epoch", MAIN, "the follower is about to send ACKEPOCH (ACK-E, f.1.1)",
        _REGISTER, "before", _calls("Learner.writePacket"), -1,
    ),
    Point("learner-sync", MAIN, "the synchronisation with the leader begins (f.2.1)", _SYNC),
    Point(
        "learner-sync-packet", MAIN, "a packet of the synchronisation was read, and is not handled yet",
        _SYNC, "after", _calls("Learner.readPacket"),
    ),
    Point(
        "learner-snap", MAIN, "SNAP: the leader's snapshot is about to be read into memory",
        _SYNC, "before", _calls("ZKDatabase.deserializeSnapshot"),
    ),
    Point(
        "learner-snapped", MAIN, "SNAP: the leader's snapshot is in memory, and not on the disk",
        _SYNC, "after", _calls("ZKDatabase.deserializeSnapshot"),
    ),
    Point(
        "learner-truncate", MAIN, "TRUNC: the log is about to be cut",
        _SYNC, "before", _calls("ZKDatabase.truncateLog"),
    ),
    Point(
        "learner-truncated", MAIN, "TRUNC: the log is cut, and memory loaded from it",
        _SYNC, "after", _calls("ZKDatabase.truncateLog"),
    ),
    Point(
        "learner-snapshot", MAIN, "NEWLEADER: the follower is about to write a snapshot",
        _SYNC, "before", _calls("LearnerZooKeeperServer.takeSnapshot"), -1,
    ),
    Point(
        "learner-epoch", MAIN, "NEWLEADER: the current epoch is not yet written (f.2.1)",
        _SYNC, "before", _calls("QuorumPeer.setCurrentEpoch"), -1,
    ),
    Point(
        "learner-epoch-written", MAIN, "NEWLEADER: the current epoch is on the disk, and not acknowledged (f.2.1)",
        _SYNC, "after", _calls("QuorumPeer.setCurrentEpoch"), -1,
    ),
    Point(
        "learner-start-threads", MAIN, "NEWLEADER: the threads are about to start, before the history is logged",
        _SYNC, "before", _calls("LearnerZooKeeperServer.startupWithoutServing"),
    ),
    Point(
        "learner-append", MAIN, "NEWLEADER: a transaction of the history is about to be appended to the log (f.2.1)",
        _SYNC, "before", _calls("FollowerZooKeeperServer.appendRequest"),
    ),
    Point(
        "learner-force", MAIN, "NEWLEADER: the history is appended to the log, and not yet forced to the disk (f.2.1)",
        _SYNC, "before", _calls("ZKDatabase.commit"),
    ),
    Point(
        "learner-log", MAIN, "a transaction of the history is about to be handed to the logging thread (f.2.1)",
        _SYNC, "before", _calls("FollowerZooKeeperServer.logRequest"),
    ),
    Point(
        "learner-ack-newleader", MAIN, "the follower is about to acknowledge NEWLEADER (ACK-LD, f.2.1)",
        _SYNC, "before", _calls("Learner.writePacket"), 0,
    ),
    Point(
        "learner-ack-uptodate", MAIN, "UPTODATE was read, and its ACK not sent",
        _SYNC, "before", _calls("Learner.writePacket"), -1,
    ),
    Point(
        "learner-serve", MAIN, "UPTODATE: the follower is about to serve clients",
        _SYNC, "before", _calls("LearnerZooKeeperServer.startServing or LearnerZooKeeperServer.startup"), -1,
    ),
    Point(
        "learner-commit", MAIN, "UPTODATE: a commit of the synchronisation is about to be handed on (f.2.2)",
        _SYNC, "before", _calls("FollowerZooKeeperServer.commit"),
    ),
    Point("learner-read", MAIN, "the follower is about to read a packet", "quorum.Learner.readPacket"),
    Point("learner-write", ANY, "the follower is about to send a packet", "quorum.Learner.writePacket"),
    Point("learner-leave", MAIN, "the follower leaves its leader", "quorum.Learner.shutdown"),
)  # fmt: skip

_EPOCHS = (
    Point(
        "accepted-epoch", MAIN, "the accepted epoch is about to be written (f.1.1)",
        _SET_ACCEPTED,
    ),
    Point(
        "accepted-epoch-write", MAIN, "the file acceptedEpoch is about to be written (f.1.1)",
        _SET_ACCEPTED, "before", _calls("QuorumPeer.writeLongToFile"),
    ),
    Point(
        "accepted-epoch-written", MAIN, "the accepted epoch is on the disk (f.1.1)",
        _SET_ACCEPTED, "after", _calls("QuorumPeer.writeLongToFile"),
    ),
    Point(
        "current-epoch", MAIN, "the current epoch is about to be written (f.2.1)",
        _SET_CURRENT,
    ),
    Point(
        "current-epoch-write", MAIN, "the file currentEpoch is about to be written (f.2.1)",
        _SET_CURRENT, "before", _calls("QuorumPeer.writeLongToFile"),
    ),
    Point(
        "current-epoch-written", MAIN, "the current epoch is on the disk (f.2.1)",
        _SET_CURRENT, "after", _calls("QuorumPeer.writeLongToFile"),
    ),
)  # fmt: skip

_LOG = (
    Point(
        "sync-queue", ANY, "a request is about to enter the logging thread's queue",
        "SyncRequestProcessor.processRequest",
    ),
    Point(
        "sync-append", LOGGING, "a transaction is about to be appended to the log (f.3.2)",
        _RUN, "before", _calls("ZKDatabase.append"),
    ),
    Point(
        "sync-appended", LOGGING, "a transaction is appended to the log, and not yet forced to the disk (f.3.2)",
        _RUN, "after", _calls("ZKDatabase.append"),
    ),
    Point("sync-flush", LOGGING, "the logging thread looks whether anything is to be forced to the disk", _FLUSH),
    Point(
        "sync-force", LOGGING, "what is appended is about to be forced to the disk (f.3.2)",
        _FLUSH, "before", _calls("ZKDatabase.commit"),
    ),
    Point(
        "sync-forced", LOGGING, "what is appended is on the disk, and not acknowledged (f.3.2)",
        _FLUSH, "after", _calls("ZKDatabase.commit"),
    ),
    Point("sync-shutdown", ANY, "the logging thread is about to be told to end", "SyncRequestProcessor.shutdown"),
    Point("log-append", ANY, "a record is about to be appended to the log", "persistence.FileTxnSnapLog.append"),
    Point(
        "log-create", ANY, "a new file of the log is about to be made",
        _APPEND, "before", _calls("FileOutputStream.<init>"),
    ),
    Point(
        "log-header", ANY, "the header of a new file of the log is about to be written",
        _APPEND, "before", _calls("BufferedOutputStream.flush"),
    ),
    Point(
        "log-pad", ANY, "a file of the log may be about to be made longer, with zeros",
        _APPEND, "before", _calls("FilePadding.padFile"),
    ),
    Point(
        "log-record", ANY, "the bytes of a record are about to enter the log's buffer, which has their checksum",
        _APPEND, "before", _calls("Util.writeTxnBytes"),
    ),
    Point(
        "log-commit", ANY, "the log is about to be flushed and forced to the disk",
        "persistence.FileTxnSnapLog.commit",
    ),
    Point(
        "log-flush", ANY, "the log's buffer is about to be written to its file",
        _COMMIT, "before", _calls("BufferedOutputStream.flush"), 0,
    ),
    Point(
        "log-force", ANY, "the log is flushed to the system, and not forced to the disk",
        _COMMIT, "before", _calls("FileChannel.force"),
    ),
    Point(
        "log-forced", ANY, "the log is on the disk",
        _COMMIT, "after", _calls("FileChannel.force"),
    ),
    Point("log-roll", ANY, "the next record will begin a new file of the log", "persistence.FileTxnLog.rollLog"),
    Point(
        "log-truncate", MAIN, "a file of the log is about to be shortened",
        "persistence.FileTxnLog.truncate", "before", _calls("RandomAccessFile.setLength"),
    ),
    Point("log-save", ANY, "a snapshot is about to be written", "persistence.FileTxnSnapLog.save"),
    Point(
        "log-save-tree", ANY, "a snapshot has its name, the last zxid, and its content is about to be written",
        "persistence.FileTxnSnapLog.save", "before", _calls("SnapShot.serialize"),
    ),
    Point(
        "snapshot-create", ANY, "the file of a snapshot is about to be made",
        _SNAPSHOT, "before", _calls("SnapStream.getOutputStream"),
    ),
    Point(
        "snapshot-write", ANY, "the tree of nodes is about to be written to the file of a snapshot",
        _SNAPSHOT, "before", _calls("FileSnap.serialize"),
    ),
    Point(
        "snapshot-seal", ANY, "the tree is in the buffer of a snapshot's file, and its checksum about to follow",
        _SNAPSHOT, "before", _calls("SnapStream.sealStream"), 0,
    ),
    Point(
        "file-sync", ANY, "an epoch or a synced snapshot is in a file *.tmp, and about to be forced to the disk",
        _REPLACE, "before", _calls("FileDescriptor.sync"),
    ),
    Point(
        "file-synced", ANY, "an epoch or a synced snapshot is on the disk, in a file *.tmp",
        _REPLACE, "after", _calls("FileDescriptor.sync"),
    ),
    Point(
        "file-rename", ANY, "a file *.tmp of an epoch or a synced snapshot is about to get its name",
        _REPLACE, "before", _calls("File.renameTo"), 0,
    ),
)  # fmt: skip

_ACKS = (
    Point(
        "ack", LOGGING, "a logged transaction is about to be acknowledged (ACK, f.3.2)",
        "quorum.SendAckRequestProcessor.processRequest",
    ),
    Point(
        "ack-send", LOGGING, "an ACK is about to be sent (f.3.2)",
        "quorum.SendAckRequestProcessor.processRequest", "before", _calls("Learner.writePacket"),
    ),
    Point(
        "ack-flush", LOGGING, "the ACKs so far are about to be flushed to the socket",
        "quorum.SendAckRequestProcessor.flush",
    ),
)  # fmt: skip

_DELIVERY = (
    Point("commit-run", DELIVERING, "the delivering thread begins", "quorum.CommitProcessor.run"),
    Point(
        "commit-queue", ANY, "a committed transaction is about to enter the delivering thread's queue",
        "quorum.CommitProcessor.commit",
    ),
    Point(
        "commit-apply", DELIVERING, "a committed transaction is about to be delivered (f.3.3, l.3.2)",
        "quorum.CommitProcessor.processWrite", "before", _calls("RequestProcessor.processRequest"),
    ),
    Point(
        "commit-applied", DELIVERING, "a committed transaction is delivered (f.3.3, l.3.2)",
        "quorum.CommitProcessor.processWrite", "after", _calls("RequestProcessor.processRequest"),
    ),
    Point(
        "commit-shutdown", ANY, "the delivering thread is about to be told to end",
        "quorum.CommitProcessor.shutdown",
    ),
    Point(
        "final", ANY, "a request reaches the last processor: it is applied, and its client answered",
        "FinalRequestProcessor.processRequest",
    ),
    Point(
        "final-apply", DELIVERING, "a request is about to be applied to the tree of nodes",
        "FinalRequestProcessor.applyRequest", "before", _calls("ZooKeeperServer.processTxn"), also="processRequest",
    ),
    Point(
        "final-applied", DELIVERING, "a request is applied to the tree of nodes, and its client not answered",
        "FinalRequestProcessor.applyRequest", "after", _calls("ZooKeeperServer.processTxn"), also="processRequest",
    ),
    Point(
        "follower-log", MAIN, "a PROPOSAL is about to enter the follower's queue (f.3.2)",
        "quorum.FollowerZooKeeperServer.logRequest",
    ),
    Point(
        "follower-commit", MAIN, "a COMMIT is about to be matched with the follower's queue (f.3.3)",
        "quorum.FollowerZooKeeperServer.commit",
    ),
)  # fmt: skip

_HANDLERS = (
    Point(
        "handler-epoch-ack", HANDLER, "ACKEPOCH was read, and the leader not told (l.1.2)",
        _HANDLE, "before", _calls("LearnerMaster.waitForEpochAck"), -1,
    ),
    Point(
        "handler-sync", HANDLER, "the leader decides how the follower is brought up to date (l.2.1)",
        "quorum.LearnerHandler.syncFollower",
    ),
    Point(
        "handler-forward", HANDLER, "what is outstanding is about to be queued for the follower (l.2.1, l.3.3)",
        "quorum.LearnerHandler.syncFollower", "before", _calls("LearnerMaster.startForwarding"),
    ),
    Point(
        "handler-snap", HANDLER, "SNAP was sent, and the leader's tree is about to follow (l.2.1)",
        _HANDLE, "before", _calls("ZKDatabase.serializeSnapshot"),
    ),
    Point(
        "handler-newleader-ack", HANDLER, "the ACK of NEWLEADER was read, and the leader not told (ACK-LD, l.2.2)",
        _HANDLE, "before", _calls("LearnerMaster.waitForNewLeaderAck"),
    ),
    Point(
        "handler-ack", HANDLER, "an ACK was read, and the leader not told (l.3.2)",
        _HANDLE, "before", _calls("LearnerMaster.processAck"),
    ),
    Point(
        "handler-queue", ANY, "a packet is about to enter the follower's queue at the leader",
        "quorum.LearnerHandler.queuePacket",
    ),
    Point(
        "handler-send", SENDER, "the thread that sends a follower's packets begins",
        "quorum.LearnerHandler.sendPackets",
    ),
    Point(
        "handler-packet", SENDER, "a packet is about to be written to the follower's socket",
        "quorum.LearnerHandler.sendPackets", "before", _calls("BinaryOutputArchive.writeRecord"),
    ),
    Point("handler-shutdown", ANY, "the leader is about to give up a follower", "quorum.LearnerHandler.shutdown"),
)  # fmt: skip

_LEADER = (
    Point("lead", MAIN, "the server begins to lead", "quorum.Leader.lead"),
    Point(
        "leader-epoch", ANY, "the leader counts an accepted epoch (CEPOCH, l.1.1)",
        "quorum.Leader.getEpochToPropose",
    ),
    Point("leader-epoch-ack", ANY, "the leader counts an ACKEPOCH (ACK-E, l.1.2)", "quorum.Leader.waitForEpochAck"),
    Point(
        "leader-newleader-ack", ANY, "the leader counts an ACK of NEWLEADER (ACK-LD, l.2.2)",
        "quorum.Leader.waitForNewLeaderAck",
    ),
    Point(
        "leader-request", ANY, "a transaction has its zxid, and is about to go to the leader that the server now has",
        "quorum.ProposalRequestProcessor.processRequest", "before", _calls("LeaderZooKeeperServer.getLeader"), -1,
    ),
    Point("leader-propose", ANY, "a transaction is about to be proposed (l.3.1)", "quorum.Leader.propose"),
    Point(
        "leader-propose-send", ANY, "a transaction is outstanding, and its PROPOSAL not queued for anybody (l.3.1)",
        "quorum.Leader.propose", "before", _calls("Leader.sendPacket"),
    ),
    Point("leader-ack", ANY, "the leader is about to count an ACK (l.3.2)", "quorum.Leader.processAck"),
    Point(
        "leader-try-commit", ANY, "the leader is about to see whether a quorum has acknowledged (l.3.2)",
        "quorum.Leader.tryToCommit",
    ),
    Point("leader-commit", ANY, "a COMMIT is about to be queued for the followers (l.3.2)", "quorum.Leader.commit"),
    Point(
        "leader-forward", HANDLER, "a follower is about to be added to those that get PROPOSALs (l.3.3)",
        "quorum.Leader.startForwarding",
    ),
    Point(
        "leader-started", MAIN, "the leader takes requests, and is about to count what it has numbered as applied",
        "quorum.Leader.startZkServer", "before", ("LeaderZooKeeperServer.getZKDatabase",),
    ),
    Point("leader-leave", ANY, "the leader gives up", "quorum.Leader.shutdown"),
)  # fmt: skip

_DATABASE = (
    Point("database-append", ANY, "a transaction is about to be appended to the log", "ZKDatabase.append"),
    Point("database-commit", ANY, "the log is about to be forced to the disk", "ZKDatabase.commit"),
    Point("database-truncate", MAIN, "memory is about to be cleared, and the log to be cut", "ZKDatabase.truncateLog"),
    Point("database-load", ANY, "memory is about to be loaded from snapshot and log", "ZKDatabase.loadDataBase"),
    Point(
        "database-fast-forward", ANY, "what only the log has is about to be applied to memory",
        "ZKDatabase.fastForwardDataBase",
    ),
    Point(
        "database-committed", ANY, "a transaction is about to be remembered as committed",
        "ZKDatabase.addCommittedProposal(Lorg/apache/zookeeper/server/Request;)",
    ),
    Point("database-clear", ANY, "memory is about to be cleared", "ZKDatabase.clear"),
    Point(
        "server-snapshot", ANY, "a snapshot is about to be taken",
        "ZooKeeperServer.takeSnapshot", "before", _calls("FileTxnSnapLog.save"),
    ),
    Point("server-shutdown", ANY, "the server is about to end its threads", "ZooKeeperServer.shutdown(Z)"),
    Point(
        "server-fast-forward", ANY, "the server leaves: what only the log has is about to be applied to memory",
        "ZooKeeperServer.shutdown(Z)", "before", _calls("ZKDatabase.fastForwardDataBase"),
    ),
)  # fmt: skip

CATALOGUE = {
    point.name: point for point in (*_LEARNER, *_EPOCHS, *_LOG, *_ACKS, *_DELIVERY, *_HANDLERS, *_LEADER, *_DATABASE)
}
"""All points by name, in the order of reading about a server: learner, disk, threads, leader."""
