package config

import (
	"fmt"

	"ulnet/lnet/nid"
)

// BelievedPorts says by which setting users without privilege, of any host, can have
// the NID of that host, or anybody with a connection any NID, on networks of a type: ""
// if only root there can. What only root on a known host may ask for is refused then.
func (c Config) BelievedPorts(of nid.NetType) string {
	if !c.SourceCheck {
		return "source_check: off"
	}
	if of == nid.O2IB {
		if !c.O2IB.LND.RequirePrivilegedPort {
			return "require_privileged_port: 0 in the section o2ib"
		}
		return ""
	}
	switch mode := c.AcceptMode(); {
	case mode == "trust" || mode == "all":
		return "accept: " + mode
	case c.AcceptPort > 1023: // what this node dials is another user's, too
		return fmt.Sprintf("accept_port: %d", c.AcceptPort)
	}
	return ""
}
