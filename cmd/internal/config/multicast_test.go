package config

import (
	"strings"
	"testing"
)

// TestMulticastKeys: the port and the addresses of multicast groups are checked when the file is
// read, so that the error has the line. The driver would refuse the same values later.
func TestMulticastKeys(t *testing.T) {
	c, err := Parse("f", []byte("multicast: 0\nmulticast_port: 20000\nmulticast_base: 239.1.0.0\nmulticast_base6: \"ff18::1:0\"\nmulticast_ttl: 3\nmulticast_rx_buffer_size: 1000\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Multicast || c.MulticastPort != 20000 || c.MulticastBase != "239.1.0.0" ||
		c.MulticastBase6 != "ff18::1:0" || c.MulticastTTL != 3 || c.MulticastRxBuffer != 1000 {
		t.Errorf("got %+v", c)
	}
	for text, want := range map[string]string{
		"multicast_port: 4791":        "RoCE",
		"multicast_port: 988":         "privileged",
		"multicast_port: 65536":       "whole number",
		"multicast_base: 10.0.0.0":    "IPv4 multicast",
		"multicast_base: 239.1.0.5":   "last 16 bits",
		"multicast_base: 224.0.0.0":   "network's own",
		"multicast_base: 'ff15::'":    "IPv4 multicast",
		"multicast_base: nonsense":    "IPv4 multicast",
		"multicast_base6: 239.1.0.0":  "IPv6 multicast",
		"multicast_base6: 'fd00::'":   "IPv6 multicast",
		"multicast_base6: ff15::1":    "last 16 bits",
		"multicast_base6: ff02::1%lo": "IPv6 multicast",
		"multicast_ttl: 0":            "whole number",
		"multicast_ttl: 256":          "whole number",
	} {
		_, err := Parse("f", []byte("multicast: 1\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "f:2:") {
			t.Errorf("%s: %v, want something of %q in line 2", text, err, want)
		}
	}
}
