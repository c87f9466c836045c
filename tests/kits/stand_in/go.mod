module zookeepergo

go 1.15
