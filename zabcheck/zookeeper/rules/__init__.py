"""The steps of Zab (DSN 2011, IV) as rules for the packets that ZooKeeper's servers send."""
