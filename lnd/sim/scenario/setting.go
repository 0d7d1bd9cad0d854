package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// settings are the settings of a file that make its network.
type settings struct {
	link       link.Change
	access     int64
	groups     *groups
	bootOver   time.Duration
	bootLine   int // line number of the setting bootOver
	cpu        sim.CPU
	inbox      int
	checkEvery time.Duration
	bootAt     []bootAt
	links      []lineAction // changes of some nodes' links from the beginning on
}

// groups describes the racks or zones.
type groups struct {
	size          int
	uplink        int64
	oversubscribe float64 // oversubscription of uplinks; 0: the setting uplink gives their bandwidth
	apart         link.Change
}

// lineAction is an action and the line that it stands in.
type lineAction struct {
	line int
	action
}

// bootAt is the start time of some nodes.
type bootAt struct {
	line int
	set  set
	at   time.Duration
}

// settingForms has the settings and the parsers of their values.
var settingForms = []struct {
	name, form, doc string
	once            bool
	parse           func(p *parser, c *cursor) string
}{
	{"nodes", "N", "how many nodes there are, numbered from 1; required", true, (*parser).nodes},
	{"seed", "S", "for everything random; 0 by default", true, (*parser).seed},
	{"run", "TIME", "how long the run lasts in virtual time; required", true, (*parser).run},
	{"set", "OPTION VALUE", "an option of the protocol", false, (*parser).set},
	{"link", "[NODES -> NODES] CHANGE", "what the network does to messages, see below; with nodes, between those only", false, (*parser).link},
	{"access", "[NODES] rate R", "bandwidth of the nodes' own links, each way", false, (*parser).access},
	{"racks", "of N [uplink R | oversubscription X] [apart CHANGE]", "groups of N neighbours that share an uplink, and what the way between groups is like", true, (*parser).racks},
	{"zones", "of N [uplink R | oversubscription X] [apart CHANGE]", "the same by another name", true, (*parser).racks},
	{"boot", "over TIME | NODES at TIME", "nodes start evenly over a time, or these ones at an instant; all at 0 by default", false, (*parser).boot},
	{"cpu", "TIME per step [TIME per KiB]", "what a message or timer costs its node, and the bytes of a message", true, (*parser).cpu},
	{"inbox", "N", "messages that wait at a busy or paused node before more are lost; 65536 by default", true, (*parser).inbox},
	{"check", "every TIME", "how often conditions are evaluated; 10 ms by default", true, (*parser).checkEvery},
}

// setting parses a setting whose first word, in the parameter first, the caller has parsed already.
func (p *parser) setting(c *cursor, l *line, first word) {
	for _, s := range settingForms {
		if s.name != first.text {
			continue
		}
		if p.events > 0 {
			c.fail(first, "%s is a setting: want it before the first at, every, random, expect, always or never", s.name)
		}
		if s.once {
			p.once(c, s.name)
		}
		l.setting = join(s.name, s.parse(p, c))
		return
	}
	names := []string{"at", "every", "random", "expect", "always", "never"}
	for _, s := range settingForms {
		names = append(names, s.name)
	}
	c.fail(first, "unknown word %q: want %s", first.text, strings.Join(names, ", "))
	c.i = len(c.words)
}

// once records that the present line has something that may stand only once in a file. It reports
// an error if an earlier line has it.
func (p *parser) once(c *cursor, what string) {
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	if at := p.seen[what]; at != 0 {
		c.fail(c.words[0], "%s stands in line %d already", what, at)
	}
	p.seen[what] = c.line
}

func (p *parser) nodes(c *cursor) string {
	p.file.Nodes = c.number("the number of nodes", p.file.Protocol.leastNodes(), MaxNodes)
	return fmt.Sprint(p.file.Nodes)
}

func (p *parser) seed(c *cursor) string {
	w := c.here()
	text := c.value(form{kind: Count})
	if _, err := fmt.Sscan(text, &p.file.Seed); err != nil && c.err == nil {
		c.fail(w, "%v", err)
	}
	return text
}

func (p *parser) run(c *cursor) string {
	p.file.Length = c.period()
	return formatTime(p.file.Length)
}

func (p *parser) set(c *cursor) string {
	options := p.file.Protocol.Options
	names := texts(options, func(o Option) string { return o.Name })
	name := c.choice("option of "+p.file.Protocol.Name, names)
	i := slices.Index(names, name)
	if i < 0 {
		return ""
	}
	p.once(c, "set "+name)
	p.file.Options[name] = c.value(options[i].form())
	return join(name, p.file.Options[name])
}

func (p *parser) link(c *cursor) string {
	s := &p.file.settings
	if w := c.here().text; w == "all" || w != "" && w[0] >= '0' && w[0] <= '9' || w == "any" {
		return p.change(c, "link", (*cursor).link)
	}
	if s.link.Fields != 0 {
		c.fail(c.here(), "link for all nodes is given twice: want all its words in one line")
	}
	s.link = c.change()
	return s.link.String()
}

// change parses the arguments of an action that some nodes' links have from the beginning on, and returns them in
// their usual form.
func (p *parser) change(c *cursor, verb string, parse func(*cursor, *action)) string {
	a := action{verb: verb, column: c.here().column}
	parse(c, &a)
	p.file.settings.links = append(p.file.settings.links, lineAction{c.line, a})
	return strings.TrimPrefix(a.String(), verb+" ")
}

func (p *parser) access(c *cursor) string {
	s := &p.file.settings
	if c.here().text != "rate" {
		return p.change(c, "access", (*cursor).access)
	}
	p.once(c, "access")
	c.want("rate")
	s.access = c.rate()
	return "rate " + link.FormatRate(s.access)
}

func (p *parser) racks(c *cursor) string {
	g := &groups{}
	if p.file.settings.groups != nil {
		c.fail(c.words[0], "want either racks or zones")
	}
	p.file.settings.groups = g
	c.want("of")
	g.size = c.number("the number of nodes of each", 1, MaxNodes)
	text := fmt.Sprintf("of %d", g.size)
	switch {
	case c.accept("uplink"):
		g.uplink = c.rate()
		text += " uplink " + link.FormatRate(g.uplink)
	case c.accept("oversubscription"):
		w := c.here()
		number := c.value(form{kind: Number, least: 1, most: 1000})
		g.oversubscribe = Args{number}.Float(0)
		if p.file.settings.access == 0 {
			c.fail(w, "oversubscription needs the bandwidth of the nodes: want a line access rate R before")
		}
		text += " oversubscription " + number
	}
	if c.accept("apart") {
		g.apart = c.change()
		text += " apart " + g.apart.String()
	}
	return text
}

func (p *parser) boot(c *cursor) string {
	s := &p.file.settings
	if c.accept("over") {
		p.once(c, "boot over")
		s.bootOver, s.bootLine = c.time(), c.line
		return "over " + formatTime(s.bootOver)
	}
	b := bootAt{line: c.line, set: set{column: c.here().column}}
	b.set.Of = c.nodes()
	c.want("at")
	b.at = c.time()
	s.bootAt = append(s.bootAt, b)
	return join(b.set.String(), "at", formatTime(b.at))
}

func (p *parser) cpu(c *cursor) string {
	s := &p.file.settings
	s.cpu.PerStep = c.time()
	c.want("per")
	c.want("step")
	text := formatTime(s.cpu.PerStep) + " per step"
	if c.more() {
		s.cpu.PerKiB = c.time()
		c.want("per")
		c.want("KiB")
		text += " " + formatTime(s.cpu.PerKiB) + " per KiB"
	}
	return text
}

func (p *parser) inbox(c *cursor) string {
	p.file.settings.inbox = c.number("a number of messages", 1, 1<<24)
	return fmt.Sprint(p.file.settings.inbox)
}

func (p *parser) checkEvery(c *cursor) string {
	c.want("every")
	p.file.settings.checkEvery = c.period()
	return "every " + formatTime(p.file.settings.checkEvery)
}
