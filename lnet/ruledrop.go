package lnet

import "ulnet/lnd"

// DropByRule drops an arrived message in place of [NI.Parse], because a drop rule of LNet
// is about it (lnet_parse, lnet_drop_rule_match). Package lnd/fault calls it, between the
// driver and this NI, so that a node without rules asks about none. The error is that of
// an NI that has not started.
func (ni *NI) DropByRule(d *lnd.Delivery) error {
	if err := ni.started(); err != nil {
		return err
	}
	if d.Group == 0 && !ni.isLo() {
		ni.meet(d) // whose counters count it; without room for the peer, the NI's alone do
	}
	ni.drop(d, DropRule)
	return nil
}
