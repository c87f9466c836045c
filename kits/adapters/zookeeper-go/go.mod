module adapter

go 1.19

require zookeepergo v0.0.0

replace zookeepergo => ../zookeeper-go
