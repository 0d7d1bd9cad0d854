package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// packet is the first packet of a connection to this host, whose source can be any address.
type packet struct {
	protocol string     // tcp or udp
	port     uint16     // destination port
	to       netip.Addr // destination address
	iface    string     // interface by which the packet arrives
}

// ruleset has the chains of nftables that see packets to this host.
type ruleset struct {
	chains map[chainName]*chain
	base   []*chain // chains at hooks that see packets to this host, in the order of hooks and priorities
	steps  int      // rules that were walked through for the present packet
}

type chainName struct{ Family, Table, Name string }

type chain struct {
	chainName
	Hook   string
	Prio   int
	Policy string
	dev    json.RawMessage // with the hook ingress: the interfaces of the chain
	rules  []rule
}

// rule is a rule with its expressions, as JSON.
type rule struct {
	handle int
	expr   []map[string]json.RawMessage
}

// hooks are the hooks that packets to this host pass, in that order.
var hooks = []string{"ingress", "prerouting", "input"}

// parseRuleset parses the output of 'nft -j list ruleset'.
func parseRuleset(text []byte) (*ruleset, error) {
	var doc struct {
		Nftables []struct {
			Chain *struct {
				Family, Table, Name, Type, Hook, Policy string
				Prio                                    int
				Dev                                     json.RawMessage
			}
			Rule *struct {
				Family, Table, Chain string
				Handle               int
				Expr                 []map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	s := &ruleset{chains: map[chainName]*chain{}}
	for _, o := range doc.Nftables {
		if c := o.Chain; c != nil {
			n := &chain{chainName: chainName{c.Family, c.Table, c.Name}, Hook: c.Hook, Prio: c.Prio, Policy: c.Policy, dev: c.Dev}
			s.add(n, c.Type)
		}
		if r := o.Rule; r != nil {
			c := s.chains[chainName{r.Family, r.Table, r.Chain}]
			if c == nil {
				return nil, fmt.Errorf("rule %d of a chain %s that is not there", r.Handle, r.Chain)
			}
			c.rules = append(c.rules, rule{r.Handle, r.Expr})
		}
	}
	slices.SortStableFunc(s.base, func(a, b *chain) int {
		return cmp.Or(slices.Index(hooks, a.Hook)-slices.Index(hooks, b.Hook), a.Prio-b.Prio)
	})
	return s, nil
}

func (s *ruleset) add(c *chain, kind string) {
	s.chains[c.chainName] = c
	if slices.Contains(hooks, c.Hook) && kind == "filter" && c.Family != "bridge" && c.Family != "arp" {
		s.base = append(s.base, c)
	}
}

// decision is what becomes of a packet.
type decision uint8

const (
	passes  decision = iota // no rule of the chain decides
	accepts                 // the chain lets the packet pass; chains with a later priority may still drop it
	dropped                 // the packet is dropped or rejected
	depends                 // the packet is accepted or dropped, depending on properties that are not known
)

// result is a decision, with the rule or the policy that makes it.
type result struct {
	decision decision
	by       string // rule or policy that decides
	perhaps  string // with passes: a rule that may accept the packet, depending on properties that are not known
}

// Bounds of chains that call each other: how deep, as in the kernel, and how many rules in all.
const (
	maxJumps = 16
	maxSteps = 100_000
)

// input decides what becomes of a packet to this host.
func (s *ruleset) input(p packet) result {
	last := result{decision: accepts}
	s.steps = 0
	for _, c := range s.base {
		elsewhere := c.dev != nil && p.meta("iifname", c.dev) == no
		if c.Family == "ip" && !p.to.Is4() || c.Family == "ip6" && p.to.Is4() || elsewhere {
			continue
		}
		r := s.walk(c, p, 0)
		switch {
		case r.decision == passes && c.Policy == "drop" && r.perhaps != "":
			r = result{decision: depends, by: r.perhaps}
		case r.decision == passes && c.Policy == "drop":
			r = result{decision: dropped, by: fmt.Sprintf("the policy of chain %s %s %s", c.Family, c.Table, c.Name)}
		}
		switch r.decision {
		case dropped, depends:
			return r
		case accepts:
			last = result{decision: accepts, by: " by " + r.by}
		}
	}
	return last
}

// walk goes through the rules of a chain.
func (s *ruleset) walk(c *chain, p packet, depth int) result {
	if depth > maxJumps {
		return result{decision: depends, by: "chains that call each other too deep"}
	}
	perhaps := ""
	for _, r := range c.rules {
		if s.steps++; s.steps > maxSteps {
			return result{decision: depends, by: "more rules than are looked at"}
		}
		by := fmt.Sprintf("rule %d of chain %s %s %s", r.handle, c.Family, c.Table, c.Name)
		matches := yes
		for _, x := range r.expr {
			if matches = matches.and(p.matches(x)); matches == no {
				break
			}
			if r, ends := s.decide(c, x, p, depth, by); ends {
				if r, ends = r.behind(matches, perhaps, by); ends {
					return r
				}
				perhaps = r.perhaps
			}
		}
	}
	return result{decision: passes, perhaps: perhaps}
}

// behind continues the walk through a chain after one rule: r is the result of the rule, and by its name.
// matches says whether the packet fulfils the conditions of the rule: yes or maybe. perhaps is an earlier
// rule that may accept the packet; "": there is none. If ends is true, the walk ends with the returned
// result; otherwise it goes on with the next rule, and uses only the field perhaps of that result.
func (r result) behind(matches match, perhaps, by string) (_ result, ends bool) {
	switch {
	case r.decision == passes:
		return result{perhaps: cmp.Or(perhaps, r.perhaps)}, false
	case r.decision == accepts && matches == maybe:
		return result{perhaps: cmp.Or(perhaps, by)}, false
	case r.decision == dropped && matches == yes && perhaps != "":
		return result{decision: depends, by: perhaps}, true
	case matches == maybe:
		return result{decision: depends, by: by}, true
	case r.decision == returned:
		return result{decision: passes, perhaps: cmp.Or(perhaps, r.perhaps)}, true
	}
	return r, true
}

// returned is the decision of a packet that goes back to the calling chain; walk alone uses it.
const returned decision = 100

// decide returns what an expression decides, if it decides.
func (s *ruleset) decide(c *chain, x map[string]json.RawMessage, p packet, depth int, by string) (r result, ends bool) {
	for kind, body := range x {
		switch kind {
		case "accept":
			return result{decision: accepts, by: by}, true
		case "drop", "reject":
			return result{decision: dropped, by: by}, true
		case "queue":
			return result{decision: depends, by: by + ", which lets a program decide"}, true
		case "return":
			return result{decision: returned}, true
		case "vmap":
			return s.mapped(c, body, p, depth, by), true
		case "jump", "goto":
			var to struct{ Target string }
			if err := json.Unmarshal(body, &to); err != nil {
				return result{decision: depends, by: by}, true
			}
			target := s.chains[chainName{c.Family, c.Table, to.Target}]
			if target == nil {
				return result{decision: depends, by: by}, true
			}
			r = s.walk(target, p, depth+1)
			if kind == "goto" && r.decision == passes {
				r.decision = returned
			}
			return r, true
		}
	}
	return r, false
}

// mapped returns what a map of nftables (vmap) decides of a packet.
func (s *ruleset) mapped(c *chain, body json.RawMessage, p packet, depth int, by string) result {
	var m struct {
		Key  map[string]json.RawMessage
		Data struct{ Set [][]json.RawMessage }
	}
	if json.Unmarshal(body, &m) != nil {
		return result{decision: depends, by: by}
	}
	for _, pair := range m.Data.Set {
		var then map[string]json.RawMessage
		if len(pair) != 2 || json.Unmarshal(pair[1], &then) != nil {
			return result{decision: depends, by: by}
		}
		switch p.compare(m.Key, pair[0]) {
		case maybe:
			return result{decision: depends, by: by}
		case yes:
			r, _ := s.decide(c, then, p, depth, by)
			return r
		}
	}
	return result{decision: passes}
}
