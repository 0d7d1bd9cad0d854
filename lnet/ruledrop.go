package lnet

import "ulnet/lnd"

// DropByRule drops an arrived message in place of [NI.Parse], because a drop rule of LNet
// hits it (lnet_parse, lnet_drop_rule_match). Package lnd/fault calls it, between the driver
// and this NI, so that a node without rules does not evaluate any. The error is that of an NI
// that has not started.
func (ni *NI) DropByRule(d *lnd.Delivery) error {
	if err := ni.started(); err != nil {
		return err
	}
	if d.Group == 0 && !ni.isLo() {
		ni.meet(d) // the counters of the peer count the message, too, if the table has room for the peer
	}
	ni.drop(d, DropRule)
	return nil
}
