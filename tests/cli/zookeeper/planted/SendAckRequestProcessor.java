package org.apache.zookeeper.server.quorum;

import java.io.Flushable;
import java.io.IOException;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;

/** Acknowledges what a follower has forced to its disk; the planted bug is that it names the next transaction. */
public class SendAckRequestProcessor implements RequestProcessor, Flushable {

    private final Learner learner;

    SendAckRequestProcessor(Learner learner) {
        this.learner = learner;
    }

    @Override
    public void processRequest(Request request) {
        if (request.type != OpCode.sync) {
            send(new QuorumPacket(Leader.ACK, request.getHdr().getZxid() + 1, null, null), false);
        }
    }

    @Override
    public void flush() {
        send(null, true);
    }

    private void send(QuorumPacket packet, boolean flush) {
        try {
            learner.writePacket(packet, flush);
        } catch (IOException closed) {
            learner.closeSocket();
        }
    }

    @Override
    public void shutdown() {}
}
