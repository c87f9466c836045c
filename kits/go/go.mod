module zab

go 1.19
