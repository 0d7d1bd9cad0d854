package config

import "ulnet/lnet/nid"

// BelievedPorts says by which setting users without privilege, of any host, can have
// the NID of that host, or anybody with a connection any NID, on networks of a type: ""
// if only root there can. What only root on a known host may ask for is refused then.
func (c *Config) BelievedPorts(of nid.NetType) string {
	if !c.SourceCheck {
		return "source_check: off"
	}
	return c.Of(of).Believes(c.Settings)
}
