package config

import "ulnet/lnet/nid"

// BelievedPorts returns the setting because of which, on networks of a type, unprivileged users
// can use the NID of their host, or any host can use any NID. It returns "" if only root can use
// the NID of a host. If there is such a setting, the node refuses requests that only root on a
// known host may make.
func (c *Config) BelievedPorts(of nid.NetType) string {
	if !c.SourceCheck {
		return "source_check: off"
	}
	return c.Of(of).Believes(c.Settings)
}
