package networks_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/networks"
)

func TestForAddresses(t *testing.T) {
	spec.Covers(t, "RT-8")
	t.Parallel()
	var addrs []netip.Addr
	for _, s := range []string{"127.0.0.1", "192.168.0.7", "10.0.3.9", "fd88::2"} {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	for _, test := range []struct {
		name, text string
		want       string
		err        string // beginning of the error's text
	}{
		{name: "one", text: "tcp 192.168.0.*", want: "tcp"},
		{name: "by interface", text: "tcp(eth0) 192.168.0.*; o2ib(ib0) 10.0.[1-4].[1-20/2]", want: "tcp(eth0),o2ib(ib0)"},
		{name: "all that match", text: "tcp(eth0) *.*.*.*\ntcp(eth1) 10.*.*.*\ntcp1 172.16.*.*", want: "tcp(eth0),tcp(eth1)"},
		{name: "the same twice", text: "tcp(eth0) 192.*.*.*; tcp(eth0) 10.*.*.*", want: "tcp(eth0)"},
		{name: "several nets and patterns", text: "tcp(eth0,eth1),o2ib1 1.1.1.1 10.0.3.[7-9] # both", want: "tcp(eth0),tcp(eth1),o2ib1"},
		{name: "comments", text: "# tcp9 10.*.*.*; tcp 10.0.3.9", want: "tcp"},
		{name: "prefix", text: "tcp 10.0.0.0/16; tcp1 fd88::/64; tcp2 10.1.0.0/16", want: "tcp,tcp1"},
		{name: "lo is everywhere", text: "lo,tcp 10.0.3.9", want: "tcp"},
		{name: "nothing matches", text: "tcp 172.16.*.*", err: "ip2nets at line 1, character 1: no entry matches an address of this host (127.0.0.1, 192.168.0.7, 10.0.3.9, fd88::2)"},
		{name: "no entry", text: "# none", err: "ip2nets at line 1, character 1: no entry matches"},
		{name: "no pattern", text: "tcp 1.2.3.4\no2ib", err: "ip2nets at line 2, character 5: want a pattern of addresses behind o2ib; an entry looks like"},
		{name: "net twice in an entry", text: "tcp(eth0),tcp0(eth1) *.*.*.*", err: "ip2nets at line 1, character 11: tcp stands in the entry twice"},
		{name: "unknown net", text: "tcp,ether 1.2.3.4", err: `ip2nets at line 1, character 5: network "ether": unknown network`},
		{name: "CPU partitions", text: "tcp(eth0)[0] 1.2.3.4", err: "ip2nets at line 1, character 10: CPU partitions are for networks"},
		{name: "three numbers", text: "tcp 1.2.3", err: `ip2nets at line 1, character 5: "1.2.3" is no pattern of addresses`},
		{name: "a NID", text: "tcp 1.2.3.4@tcp", err: "ip2nets at line 1, character 12: want addresses, not NIDs"},
		{name: "a number above 255", text: "tcp 1.2.3.[1-256]", err: `ip2nets at line 1, character 5: "1.2.3.[1-256]" is no pattern`},
		{name: "too long", text: strings.Repeat("#", 1<<17), err: "ip2nets at line 1, character 65537: longer than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := networks.ForAddresses(test.text, addrs)
			if test.err == "" {
				if err != nil || got != test.want {
					t.Errorf("%q, %v, want %q", got, err, test.want)
				}
				return
			}
			if _, ok := errors.AsType[*networks.EntryError](err); !ok || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}

// FuzzForAddresses: the result can be parsed as a networks string.
func FuzzForAddresses(f *testing.F) {
	for _, s := range []string{
		"tcp 10.0.0.*", "tcp(eth0,eth1),o2ib1 [1-10].*.*.* # x\n;lo *.*.*.*", "tcp *", "tcp 10.0.0.0/8 fd88::/64", "tcp() 1.2.3.4", "tcp[0] 1", "tcp, *.*.*.*",
	} {
		f.Add(s)
	}
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd88::2")}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := networks.ForAddresses(text, addrs)
		if err != nil {
			if _, ok := errors.AsType[*networks.EntryError](err); !ok {
				t.Errorf("error of type %T: %v", err, err)
			}
			return
		}
		if err := networks.CheckIP2Nets(text); err != nil {
			t.Errorf("%q is accepted with these addresses alone: %v", text, err)
		}
		if _, err := networks.Parse(got); err != nil && len(got) <= 4096 {
			t.Errorf("%q: %v", got, err)
		}
	})
}
