package config

import "ulnet/lnet/nid"

// BelievedPorts returns the setting that lets users without privilege have the NID of their
// host, or every host any NID, on networks of a type. It returns "" if only root of a host
// can have its NID. Otherwise requests that only root on a known host may make are refused.
func (c *Config) BelievedPorts(of nid.NetType) string {
	if !c.SourceCheck {
		return "source_check: off"
	}
	return c.Of(of).Believes(c.Settings)
}
