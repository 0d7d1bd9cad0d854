package doctor

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// nftChain and the functions and constants below are parts of a ruleset, as nft prints them.
func nftChain(name, rest string) string {
	return fmt.Sprintf(`{"chain": {"family": "inet", "table": "f", "name": %q%s}}`, name, rest)
}

func nftRule(chain string, handle int, expr ...string) string {
	return fmt.Sprintf(`{"rule": {"family": "inet", "table": "f", "chain": %q, "handle": %d, "expr": [%s]}}`, chain, handle, strings.Join(expr, ","))
}

func nftMatch(left, right string) string {
	return fmt.Sprintf(`{"match": {"op": "==", "left": %s, "right": %s}}`, left, right)
}

func nftUnequal(protocol, field, right string) string {
	return fmt.Sprintf(`{"match": {"op": "!=", "left": {"payload": {"protocol": %q, "field": %q}}, "right": %s}}`, protocol, field, right)
}

const (
	drops   = `, "type": "filter", "hook": "input", "prio": 0, "policy": "drop"`
	lets    = `, "type": "filter", "hook": "input", "prio": 0, "policy": "accept"`
	dport   = `{"payload": {"protocol": "tcp", "field": "dport"}}`
	saddr   = `{"payload": {"protocol": "ip", "field": "saddr"}}`
	ctState = `{"ct": {"key": "state"}}`
	accept  = `{"accept": null}`
	drop    = `{"drop": null}`
	jump    = `{"jump": {"target": "more"}}`
)

// TestRuleset: for a new connection to port 988, input decides as the kernel would.
func TestRuleset(t *testing.T) {
	spec.Covers(t, "OP-42")
	established := nftRule("in", 1, nftMatch(ctState, `["established", "related"]`), accept)
	for _, c := range []struct {
		name  string
		parts []string
		want  decision
	}{
		{"nothing", nil, accepts},
		{"policy accept", []string{nftChain("in", lets)}, accepts},
		{"policy drop", []string{nftChain("in", drops), established}, dropped},
		{"accepted port", []string{nftChain("in", drops), established, nftRule("in", 2, nftMatch(dport, "988"), accept)}, accepts},
		{"another port", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, "989"), accept)}, dropped},
		{"set of ports", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `{"set": [22, 988]}`), accept)}, accepts},
		{"range of ports", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `{"range": [900, 1000]}`), accept)}, accepts},
		{"range in a set", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `{"set": [{"range": [900, 1000]}]}`), accept)}, accepts},
		{"named set", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `"@ports"`), accept)}, depends},
		{"port with a comment", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `{"set": [{"elem": {"val": 988, "comment": "lnet"}}]}`), accept)}, accepts},
		{"dropped port with a comment", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(dport, `{"set": [{"elem": {"val": 988, "comment": "lnet"}}]}`), drop)}, dropped},
		{"unknown form of a port", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, `{"set": [{"|": [988, 989]}]}`), accept)}, depends},
		{"other sources behind goto", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, `{"goto": {"target": "more"}}`), nftRule("more", 3, nftMatch(saddr, `"10.0.0.9"`), accept)}, depends},
		{"dropped at prerouting", []string{nftChain("in", lets), nftChain("pre", `, "type": "filter", "hook": "prerouting", "prio": -300, "policy": "accept"`), nftRule("pre", 2, nftMatch(dport, "988"), drop)}, dropped},
		{"dropped at another interface", []string{nftChain("pre", `, "type": "filter", "hook": "ingress", "dev": "other9", "prio": 0, "policy": "drop"`)}, accepts},
		{"rejected port", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(dport, "988"), `{"reject": {"type": "tcp reset"}}`)}, dropped},
		{"UDP alone", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(`{"payload": {"protocol": "udp", "field": "dport"}}`, "988"), accept)}, dropped},
		{"other sources", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(saddr, `{"prefix": {"addr": "10.0.0.0", "len": 8}}`), accept)}, depends},
		{"other sources, and all", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(saddr, `"10.0.0.9"`), accept)}, accepts},
		{"other sources in a chain", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, jump), nftRule("more", 3, nftMatch(saddr, `"10.0.0.9"`), accept)}, depends},
		{"other sources, then none", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(saddr, `"10.0.0.9"`), accept), nftRule("in", 3, drop)}, depends},
		{"bad sources", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(saddr, `"10.0.0.9"`), drop)}, depends},
		{"own address", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(`{"payload": {"protocol": "ip", "field": "daddr"}}`, `{"prefix": {"addr": "10.0.0.0", "len": 24}}`), drop)}, dropped},
		{"another address", []string{nftChain("in", lets), nftRule("in", 2, nftMatch(`{"payload": {"protocol": "ip", "field": "daddr"}}`, `"10.0.0.2"`), drop)}, accepts},
		{"loopback alone", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(`{"meta": {"key": "iif"}}`, `"lo"`), accept)}, dropped},
		{"by interface", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(`{"meta": {"key": "iifname"}}`, `"eth0"`), accept)}, accepts},
		{"not equal", []string{nftChain("in", lets), nftRule("in", 2, `{"match": {"op": "!=", "left": `+dport+`, "right": 22}}`, drop)}, dropped},
		{"not equal, of another protocol", []string{nftChain("in", lets), nftRule("in", 2, nftUnequal("udp", "dport", "22"), drop)}, accepts},
		{"not equal, of ICMP", []string{nftChain("in", lets), nftRule("in", 2, nftUnequal("icmp", "type", `"echo-request"`), drop)}, accepts},
		{"not equal, of IPv6", []string{nftChain("in", drops), nftRule("in", 2, nftUnequal("ip6", "saddr", `"fe80::1"`), accept)}, dropped},
		{"not equal, another address", []string{nftChain("in", lets), nftRule("in", 2, nftUnequal("ip", "daddr", `"10.0.0.2"`), drop)}, dropped},
		{"not equal, own address", []string{nftChain("in", lets), nftRule("in", 2, nftUnequal("ip", "daddr", `"10.0.0.1"`), drop)}, accepts},
		{"vmap for another protocol", []string{nftChain("in", lets), nftRule("in", 2, `{"vmap": {"key": {"payload": {"protocol": "udp", "field": "dport"}}, "data": {"set": [[988, {"drop": null}]]}}}`)}, accepts},
		{"queue", []string{nftChain("in", lets), nftRule("in", 2, `{"queue": {"num": 0, "flags": "bypass"}}`)}, depends},
		{"limit", []string{nftChain("in", drops), nftRule("in", 2, `{"limit": {"rate": 1}}`, accept)}, depends},
		{"counter", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(dport, "988"), `{"counter": {"packets": 1}}`, accept)}, accepts},
		{"jump", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, jump), nftRule("more", 3, nftMatch(dport, "988"), accept)}, accepts},
		{"jump and back", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, jump), nftRule("more", 3, `{"return": null}`), nftRule("more", 4, accept)}, dropped},
		{"goto", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, `{"goto": {"target": "more"}}`), nftRule("in", 3, accept)}, dropped},
		{"endless", []string{nftChain("in", drops), nftChain("more", ""), nftRule("in", 2, jump), nftRule("more", 3, jump)}, depends},
		{"two chains", []string{
			nftChain("in", lets), nftRule("in", 2, accept),
			nftChain("late", `, "type": "filter", "hook": "input", "prio": 10, "policy": "drop"`),
		}, dropped},
		{"vmap", []string{nftChain("in", drops), nftRule("in", 2, `{"vmap": {"key": `+ctState+`, "data": {"set": [["established", {"accept": null}], ["invalid", {"drop": null}]]}}}`), nftRule("in", 3, accept)}, accepts},
		{"vmap for it", []string{nftChain("in", lets), nftRule("in", 2, `{"vmap": {"key": `+dport+`, "data": {"set": [[988, {"drop": null}]]}}}`)}, dropped},
		{"iptables extension", []string{nftChain("in", drops), nftRule("in", 2, `{"xt": {"type": "match", "name": "tcp"}}`, accept)}, depends},
		{"names of interfaces", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(`{"meta": {"key": "iifname"}}`, `"eth*"`), accept)}, accepts},
		{"names of other interfaces", []string{nftChain("in", drops), nftRule("in", 2, nftMatch(`{"meta": {"key": "iifname"}}`, `"ib*"`), accept)}, dropped},
		{"forwarded alone", []string{nftChain("in", `, "type": "filter", "hook": "forward", "prio": 0, "policy": "drop"`)}, accepts},
	} {
		s, err := parseRuleset([]byte(`{"nftables": [` + strings.Join(c.parts, ",") + `]}`))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := s.input(packet{"tcp", 988, netip.MustParseAddr("10.0.0.1"), "eth0"}); got.decision != c.want {
			t.Errorf("%s: decision %d (%s), want %d", c.name, got.decision, got.by, c.want)
		}
	}
}

// FuzzRuleset: any output of nft is understood or refused.
func FuzzRuleset(f *testing.F) {
	f.Add([]byte(drop988))
	f.Add([]byte(`{"nftables": [` + nftChain("in", drops) + "," + nftRule("in", 2, `{"vmap": {"key": `+dport+`, "data": {"set": [[988, {"jump": {"target": "in"}}]]}}}`) + `]}`))
	f.Add([]byte(`{"nftables": [` + nftChain("in", drops) + "," + nftRule("in", 2, nftMatch(saddr, `{"set": ["10.0.0.1", {"range": ["10.0.0.1", "10.0.0.9"]}]}`), drop) + `]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseRuleset(text)
		if err != nil {
			return
		}
		for _, to := range []string{"10.0.0.1", "fd88::1"} {
			if r := s.input(packet{"udp", 4791, netip.MustParseAddr(to), "eth0"}); r.decision != accepts && r.by == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
