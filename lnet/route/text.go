package route

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
)

// tunable is the name of the text in errors.
const tunable = "routes"

// Parse parses the tunable routes (LNet config.c lnet_parse_route):
//
//	routes   = entry { ( ";" | newline ) entry }
//	entry    = net blank [ hops blank ] gateway { blank gateway }
//	gateway  = NID [ ":" priority ]
//
// # begins a comment that ends with the entry. Brackets in nets and gateways enclose numbers
// and ranges, as in tcp1 2 10.0.0.[1-4]@o2ib:1, and stand for each of them; an entry makes a
// route of each net and each gateway, MaxRoutes altogether at most. An error is a
// *networks.EntryError.
func Parse(text string) ([]Route, error) {
	if err := networks.CheckLength(tunable, text); err != nil {
		return nil, err
	}
	p := parser{text: text}
	for words := range networks.Entries(text) {
		if p.entry(words); p.err != nil {
			return nil, p.err
		}
	}
	return p.found, nil
}

type parser struct {
	text  string
	found []Route
	err   error // the first error, a *networks.EntryError
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		reason := fmt.Sprintf(format, args...) + "; an entry looks like tcp1 10.0.0.1@tcp, or tcp1 2 10.0.0.[1-4]@tcp:1 with hops and priority"
		p.err = &networks.EntryError{Tunable: tunable, Text: p.text, Offset: at, Reason: reason}
	}
}

func (p *parser) entry(words []networks.Word) {
	nets := p.nets(words[0])
	gateways, hops := words[1:], UndefinedHops
	if len(gateways) > 0 && isNumber(gateways[0].Text) {
		hops = p.hops(gateways[0])
		gateways = gateways[1:]
	}
	if len(gateways) == 0 {
		last := words[len(words)-1]
		p.fail(last.Offset+len(last.Text), "want a gateway")
	}
	for _, w := range gateways {
		for _, g := range p.gateways(w) {
			g.Hops = hops
			p.add(w, nets, g)
		}
	}
}

// add appends routes that all go by one gateway: one to each of the nets.
func (p *parser) add(w networks.Word, nets []nid.Net, by Route) {
	if len(p.found)+len(nets) > MaxRoutes {
		p.fail(w.Offset, "more than %d routes", MaxRoutes)
	}
	for _, net := range nets {
		if p.err != nil {
			return
		}
		by.Net = net
		if net == by.Gateway.Net() {
			p.fail(w.Offset, "gateway %v is on %v itself; name its NID on a net of this node", by.Gateway, net)
		}
		p.found = append(p.found, by)
	}
}

func (p *parser) expand(w networks.Word) []string {
	texts, err := nid.ExpandText(w.Text, MaxRoutes)
	if err != nil {
		p.fail(w.Offset, "%v", err)
	}
	return texts
}

func (p *parser) nets(w networks.Word) (nets []nid.Net) {
	for _, text := range p.expand(w) {
		net, err := nid.ParseNet(text)
		switch {
		case err != nil:
			p.fail(w.Offset, "%v", err)
		case !isRemote(net):
			p.fail(w.Offset, "there is no route to %v", net)
		}
		nets = append(nets, net)
	}
	return nets
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func (p *parser) hops(w networks.Word) int {
	n, err := strconv.Atoi(w.Text)
	if err != nil || n < 1 || n > MaxHops {
		p.fail(w.Offset, "want 1 to %d hops, not %s", MaxHops, w.Text)
	}
	return n
}

// gateways parses NIDs with a priority. A colon before the last @ is part of an address.
func (p *parser) gateways(w networks.Word) (by []Route) {
	for _, text := range p.expand(w) {
		r := New(nid.Net{}, nid.NID{})
		at := strings.LastIndexByte(text, '@') + 1
		if net, priority, found := strings.Cut(text[at:], ":"); found {
			n, err := strconv.ParseUint(priority, 10, 31)
			if err != nil {
				p.fail(w.Offset, "%q: want a priority from 0, the best, to %d", priority, maxPriority)
			}
			r.Priority = int(n)
			text = text[:at] + net
		}
		var err error
		r.Gateway, err = nid.Parse(text)
		switch {
		case err != nil:
			p.fail(w.Offset, "%v", err)
		case !isGateway(r.Gateway):
			p.fail(w.Offset, "%v is no gateway", r.Gateway)
		}
		by = append(by, r)
	}
	return by
}

// Apply adds routes that [Parse] returned to the table of a node with these NIDs. Like kernels at their start
// it skips routes that are there already, routes by a gateway that this node does not reach, and routes by
// this node itself. A route of the last kind makes the node a router. After another error no route is added.
func (t *Table) Apply(list []Route, own []nid.NID, random *rand.Rand) (a Applied, err error) {
	b := t.Batch(own, random)
	for _, r := range list {
		if slices.Contains(own, r.Gateway) {
			a.Router = true
			continue
		}
		err := b.Add(r)
		switch {
		case err == nil:
			a.Added = append(a.Added, r)
		case errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.EHOSTUNREACH):
			a.Passed = append(a.Passed, err)
		default:
			return Applied{}, err
		}
	}
	b.Commit()
	return a, nil
}

// Applied is the result of [Table.Apply], which adds the routes of the tunable "routes" to a
// node's table.
type Applied struct {
	Added  []Route // routes that were added
	Router bool    // whether this node is one of the gateways
	Passed []error // why routes were skipped that were there already, or whose gateway this node does not reach; one error per route
}
