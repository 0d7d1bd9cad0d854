# A client as roles and manuals set it up: a file is written by hand, imported, checked and kept.
#
# hosts: C lo, R tcp(eth0)

cat > C.conf <<'YAML'
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
          tunables:
              peer_timeout: 180
              peer_credits: 16
              peer_buffer_credits: 0
              credits: 512
          lnd tunables:
              conns_per_peer: 2
route:
    - net: o2ib
      gateway: 10.1.0.254@tcp
      priority: 1
global:
    discovery: 0
    drop_asym_route: 1
    retry_count: 2
    transaction_timeout: 50
YAML
C import C.conf
C net show --net tcp -v | says 'nid: 10.1.0.1@tcp' 'peer_credits: 16' 'credits: 512' 'conns_per_peer: 2'
C route show -v | says 'net: o2ib' 'gateway: 10.1.0.254@tcp' 'priority: 1'
C global show | says 'discovery: 0' 'drop_asym_route: 1' 'transaction_timeout: 50'
C ping 10.1.0.254@tcp

# lnetd reads the same file when it starts.
restart C
C net show --net tcp -v | says 'nid: 10.1.0.1@tcp' 'peer_credits: 16' 'credits: 512'
C route show | says 'gateway: 10.1.0.254@tcp'
C global show | says 'discovery: 0' 'transaction_timeout: 50'
C ping 10.1.0.254@tcp
C diff C.conf

# What scripts do to find out that something is wrong: exit codes.
fails C ping --timeout 1 10.1.0.99@tcp
fails C net add --net tcp9 --if nosuch0
fails C net del --net tcp9
fails C nosuch
fails C import nosuch.yaml
