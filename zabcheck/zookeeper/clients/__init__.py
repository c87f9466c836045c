"""The promises of ZooKeeper to its clients, and their check on a history: what clients asked, and were told."""
