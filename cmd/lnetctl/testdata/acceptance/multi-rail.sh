# A multi-rail node: two interfaces on one network, a peer with two NIDs, a configuration that
# outlives a restart.
#
# hosts: S lo, P lo

S net add --net tcp --if eth0
S net add --net tcp --if eth1
P net add --net tcp --if eth0,eth1
S set discovery 1
P set discovery 1

# Either NID of the peer leads to all of it.
P discover 10.2.0.5@tcp
P peer show --nid 10.2.0.5@tcp | says 'Multi-Rail: [Tt]rue' 'nid: 10.2.0.5@tcp' 'nid: 10.3.0.5@tcp'
P ping 10.2.0.5@tcp
P ping 10.3.0.5@tcp
S net show --net tcp | says 'nid: 10.2.0.5@tcp' 'nid: 10.3.0.5@tcp' '0: eth0' '0: eth1'

# The tuning that manuals give: fewer tries, another sensitivity of health.
S set retry_count 3
S set health_sensitivity 200
S set transaction_timeout 100

# What is exported is there after a restart.
S export --backup > S.conf
restart S
S net show --net tcp | says 'nid: 10.2.0.5@tcp' 'nid: 10.3.0.5@tcp'
S global show | says 'retry_count: 3' 'health_sensitivity: 200' 'transaction_timeout: 100'
P ping 10.2.0.5@tcp
P ping 10.3.0.5@tcp
S export --backup > S.again
cmp S.conf S.again

# A rail is taken out for maintenance, and comes back.
S net del --net tcp --if eth1
S net show | silent 'nid: 10.3.0.5@tcp'
fails S net del --net tcp --if eth1
soon P ping 10.2.0.5@tcp
S net add --net tcp --if eth1
S net show | says 'nid: 10.2.0.5@tcp' 'nid: 10.3.0.5@tcp'
soon P ping 10.3.0.5@tcp

# A peer that is not there yet is configured by hand, and is kept with the rest.
P peer add --prim_nid 10.2.0.77@tcp --nid 10.3.0.77@tcp
P peer show --nid 10.3.0.77@tcp | says 'primary nid: 10.2.0.77@tcp'
P config save P.conf
restart P
P net show | says 'nid: 10.2.0.6@tcp' 'nid: 10.3.0.6@tcp'
P peer show --nid 10.3.0.77@tcp | says 'primary nid: 10.2.0.77@tcp'
P peer del --prim_nid 10.2.0.77@tcp
P peer show | silent 10.2.0.77@tcp
