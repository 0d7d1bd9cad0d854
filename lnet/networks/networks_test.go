package networks_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

func TestParse(t *testing.T) {
	iface := func(net, name string) networks.Interface {
		return networks.Interface{Net: nid.MustParseNet(net), Name: name}
	}
	for _, test := range []struct {
		name, text string
		want       []networks.Interface
		offset     int    // offset in the error
		reason     string // reason in the error; empty: no error
	}{
		{name: "net alone", text: "tcp", want: []networks.Interface{iface("tcp", "")}},
		{name: "interface", text: "tcp(eth0)", want: []networks.Interface{iface("tcp", "eth0")}},
		{name: "number zero", text: "tcp0(eth0)", want: []networks.Interface{iface("tcp", "eth0")}},
		{name: "address", text: "tcp1(127.0.0.2)", want: []networks.Interface{iface("tcp1", "127.0.0.2")}},
		{name: "IPv6 address", text: "tcp(fd00::1)", want: []networks.Interface{iface("tcp", "fd00::1")}},
		{name: "several nets", text: "tcp(eth0), o2ib3(ib0)", want: []networks.Interface{iface("tcp", "eth0"), iface("o2ib3", "ib0")}},
		{name: "several interfaces", text: "tcp(eth0,eth1)", want: []networks.Interface{iface("tcp", "eth0"), iface("tcp", "eth1")}},
		{name: "RDMA", text: "o2ib(eth0),o2ib1(10.0.0.1)", want: []networks.Interface{iface("o2ib", "eth0"), iface("o2ib1", "10.0.0.1")}},
		{name: "RDMA over IPv6", text: "tcp,o2ib(eth0,fd00::1)", offset: 14, reason: "networks of type o2ib have IPv4 addresses only, not fd00::1"},
		{name: "CPTs of the net", text: "tcp(eth0)[0,1]", want: []networks.Interface{iface("tcp", "eth0")}},
		{name: "CPTs of a net alone", text: "tcp[0-3]", want: []networks.Interface{iface("tcp", "")}},
		{name: "CPTs of interfaces", text: "tcp(eth0[0],eth1[2-3/1])[0,1],tcp1", want: []networks.Interface{iface("tcp", "eth0"), iface("tcp", "eth1"), iface("tcp1", "")}},
		{name: "blanks", text: " tcp ( eth0 , eth1 [0] ) [1] , tcp1 ", want: []networks.Interface{iface("tcp", "eth0"), iface("tcp", "eth1"), iface("tcp1", "")}},
		{name: "one net twice", text: "tcp(eth0),tcp(eth1)", want: []networks.Interface{iface("tcp", "eth0"), iface("tcp", "eth1")}},
		{name: "lo ignored", text: "lo,tcp", want: []networks.Interface{iface("tcp", "")}},
		{name: "lo alone", text: "lo"},
		{name: "alias", text: "tcp(eth0:1)", want: []networks.Interface{iface("tcp", "eth0:1")}},

		{name: "empty", text: "", reason: "want a network, such as tcp"},
		{name: "unknown net", text: "tcp,ether(eth0)", offset: 4, reason: `network "ether": unknown network`},
		{name: "number too large", text: "tcp65536", reason: `network "tcp65536": network number above 65535`},
		{name: "trailing comma", text: "tcp,", offset: 4, reason: "want a network, such as tcp"},
		{name: "open bracket", text: "tcp(eth0", offset: 8, reason: "want ')'"},
		{name: "empty brackets", text: "tcp()", offset: 4, reason: `want an interface name or a local address, not ""`},
		{name: "name too long", text: "tcp(abcdefghijklmnop)", offset: 4, reason: `want an interface name or a local address, not "abcdefghijklmnop"`},
		{name: "name with slash", text: "tcp(a/b)", offset: 4, reason: `want an interface name or a local address, not "a/b"`},
		{name: "name with a blank", text: "tcp(eth 0)", offset: 4, reason: `want an interface name or a local address, not "eth 0"`},
		{name: "any address", text: "tcp(0.0.0.0)", offset: 4, reason: `want an interface name or a local address, not "0.0.0.0"`},
		{name: "broadcast", text: "tcp(255.255.255.255)", offset: 4, reason: `want an interface name or a local address, not "255.255.255.255"`},
		{name: "mapped broadcast", text: "tcp(::ffff:255.255.255.255)", offset: 4, reason: `want an interface name or a local address, not "::ffff:255.255.255.255"`},
		{name: "mapped any address", text: "tcp(::ffff:0.0.0.0)", offset: 4, reason: `want an interface name or a local address, not "::ffff:0.0.0.0"`},
		{name: "closing bracket alone", text: "tcp)", offset: 3, reason: "want ','"},
		{name: "nested brackets", text: "tcp((eth0))", offset: 4, reason: `want an interface name or a local address, not ""`},
		{name: "junk behind", text: "tcp(eth0)x", offset: 9, reason: "want ','"},
		{name: "open CPTs", text: "tcp[0", offset: 4, reason: "want ']'"},
		{name: "empty CPTs", text: "tcp[]", offset: 4, reason: "want numbers of CPU partitions, such as [0,2-3]"},
		{name: "CPTs that are none", text: "tcp[a]", offset: 4, reason: "want numbers of CPU partitions, such as [0,2-3]"},
		{name: "interface twice", text: "tcp(eth0),tcp0(eth0)", offset: 15, reason: "tcp(eth0) stands there twice"},
		{name: "too long", text: strings.Repeat("tcp,", 2000), reason: "longer than 4096 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := networks.Parse(test.text)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateComparable(nid.Net{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			bad, ok := errors.AsType[*networks.Error](err)
			if !ok || bad.Offset != test.offset || bad.Reason != test.reason {
				t.Errorf("error %v, want offset %d: %s", err, test.offset, test.reason)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"tcp", "tcp(eth0)", "tcp0(eth0,eth1)[0,1],o2ib1(ib0)", "tcp1(127.0.0.2),lo", "tcp(fd00::1[0])",
		"tcp((", "tcp[", "tcp,,tcp", "kfi(a),gni3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		found, err := networks.Parse(s)
		if err != nil {
			return
		}
		if len(found) == 0 { // the text names lo alone
			return
		}
		texts := make([]string, len(found))
		for i, n := range found {
			texts[i] = n.String()
		}
		canonical := strings.Join(texts, ",")
		again, err := networks.Parse(canonical)
		if err != nil && len(canonical) <= 4096 {
			t.Fatalf("%q means %q, which is refused: %v", s, canonical, err)
		}
		if diff := cmp.Diff(found, again, cmpopts.EquateComparable(nid.Net{})); err == nil && diff != "" {
			t.Errorf("%q means something else than %q:\n%s", s, canonical, diff)
		}
	})
}
