module ulnet

go 1.26
