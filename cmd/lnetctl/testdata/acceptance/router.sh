# A router between two networks, and a client behind it: networks, routes, forwarding, and a
# configuration that outlives restarts.
#
# hosts: C lo, R lo, S lo

# The router has an interface on each network and forwards between them.
R net add --net tcp --if eth0
R net add --net tcp1 --if eth1
R set small_buffers 8192
R set routing 1
R routing show | says 'enable: [13]' 'nbuffers: 8192'

# Client and server have a route to the network of the other.
C net add --net tcp --if eth0
C route add --net tcp1 --gateway 10.1.0.254@tcp --hop 1 --priority 0
S net add --net tcp1 --if eth0
S route add --net tcp --gateway 10.2.0.254@tcp1
waits 'state: up' C route show -v
C route show -v | says 'net: tcp1' 'gateway: 10.1.0.254@tcp' 'hop: 1' 'priority: 0'
waits 'state: up' S route show -v
S route show -v | says 'net: tcp$'
soon C ping 10.2.0.5@tcp1
soon S ping 10.1.0.1@tcp
R stats show | says 'route_count: [1-9]'

# A route is there once, and needs a gateway on a network of the node.
fails C route add --net tcp1 --gateway 10.1.0.254@tcp
fails C route add --net tcp9 --gateway 10.9.0.1@tcp9

# All three have it again after a restart.
C export --backup > C.conf
sed -n '/^route:/,/^[a-z].*:$/p' C.conf | grep -v '^global' > C.route
R export --backup > R.conf
S export --backup > S.conf
restart R
restart C
restart S
R routing show | says 'enable: [13]' 'nbuffers: 8192'
R net show | says 'nid: 10.1.0.254@tcp' 'nid: 10.2.0.254@tcp1'
waits 'state: up' C route show -v
C route show -v | says 'net: tcp1' 'gateway: 10.1.0.254@tcp'
soon C ping 10.2.0.5@tcp1

# A file brings back what was taken away by hand.
C route del --net tcp1 --gateway 10.1.0.254@tcp
C route show | silent tcp1
C import < C.conf || true # it has the network already, and says so
C import < C.route
C route show | says 'net: tcp1'

# The router becomes an ordinary node again.
R set routing 0
waits 'enable: 0' R routing show
