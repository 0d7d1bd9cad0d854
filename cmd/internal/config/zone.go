package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"ulnet/gossip/zone"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Zone is the section zone of the file: the node's membership in a zone. The comment of each
// field begins with its key.
type Zone struct {
	Name string   // name: name of the zone; empty: there is none
	At   Position // position of the section in the file

	Node       string    // node: name of the node; empty: the name of the host
	NIDs       []nid.NID // nids: NIDs at which the node is reached; none: all
	Bootstrap  []zone.ID // bootstrap: nodes to ask when joining
	Supervisor bool      // role: supervisor, which means a supervisor of base zones
	Management []zone.ID // management: supervisors to which delegates connect
	Delegates  int       // delegates: number of delegates of a zone
	Monitor    bool      // monitor: the node is notified of suspicions at once

	Paper       bool          // preset: paper, which means the parameters of the paper
	Threshold   int           // theta: how many nodes must suspect a member before it is removed; 0: depends on preset; the same holds for Successors, Random and Aggregation
	Successors  int           // successors: number of successors with a link
	Random      int           // random: number of random neighbours
	Aggregation time.Duration // aggregation: time over which changes are collected
	Heartbeat   time.Duration // heartbeat: time between heartbeats of a link
	Timeout     time.Duration // timeout: silence after which a node is suspected; 0: computed from heartbeat
	MaxMembers  int           // max_members: bound of the members of the zone

	KeyFile string       // key_file: path of the file with the keys
	Keys    keyring.Keys // keys that key_file has
}

func defaultZone() Zone { return Zone{Delegates: 3, MaxMembers: 16384} }

// Enabled reports whether the node is in a zone.
func (z *Zone) Enabled() bool { return z.Name != "" }

// Agent returns the configuration for package zone, without the node's id.
func (z *Zone) Agent() zone.Config {
	c := zone.Config{}
	if p := zone.Paper; z.Paper {
		c.Threshold, c.Successors, c.Random, c.Aggregation = p.Threshold, p.Successors, p.Random, p.Aggregation
	}
	for _, n := range []struct {
		to *int
		n  int
	}{{&c.Threshold, z.Threshold}, {&c.Successors, z.Successors}, {&c.Random, z.Random}} {
		if n.n > 0 {
			*n.to = n.n
		}
	}
	if z.Aggregation > 0 {
		c.Aggregation = z.Aggregation
	}
	c.Zone, c.Bootstrap, c.Management, c.Supervisor, c.Keys = z.Name, z.Bootstrap, z.Management, z.Supervisor, z.Keys
	c.Heartbeat, c.Timeout, c.Delegates, c.MaxMembers = z.Heartbeat, z.Timeout, z.Delegates, z.MaxMembers
	return c
}

func (z *Zone) settings(file string) map[string]setting {
	return map[string]setting{
		"name":        text(&z.Name, nil),
		"node":        text(&z.Node, nil),
		"nids":        members(&z.NIDs),
		"bootstrap":   ids(&z.Bootstrap),
		"role":        choice(&z.Supervisor, "base", "supervisor"),
		"management":  ids(&z.Management),
		"delegates":   number(&z.Delegates, 1, 64),
		"monitor":     flag(&z.Monitor),
		"preset":      choice(&z.Paper, "default", "paper"),
		"theta":       number(&z.Threshold, 0, 32),
		"successors":  number(&z.Successors, 0, 32),
		"random":      number(&z.Random, 0, 32),
		"aggregation": span(&z.Aggregation, 0, time.Minute),
		"heartbeat":   span(&z.Heartbeat, 0, time.Hour),
		"timeout":     span(&z.Timeout, 0, 24*time.Hour),
		"max_members": number(&z.MaxMembers, 2, maxCount),
		"key_file":    keyFile(&z.KeyFile, &z.Keys, file),
	}
}

// choice parses one of two words: the word in the argument yes sets *to to true, the one in no sets it to false.
func choice(to *bool, no, yes string) setting {
	return text(new(string), func(s string) error {
		*to = s == yes
		return among(no, yes)(s)
	})
}

// ids parses a list of ids of nodes.
func ids(to *[]zone.ID) setting {
	return setting{func(value ast.Node) error {
		*to = nil
		return entries(value, "NAME=NID", func(s string) error {
			id, err := zone.ParseID(s)
			if err == nil && slices.Contains(*to, id) {
				err = fmt.Errorf("%v is listed twice", id)
			}
			*to = append(*to, id)
			return err
		})
	}}
}

// check sets At, and refuses values that do not fit together.
func (z *Zone) check(file string, at map[string]*token.Token) (err error) {
	if z.At = (Position{}); !z.Enabled() {
		return nil
	}
	z.At = positionOf(file, at["name"])
	if z.Supervisor && len(z.Management) > 0 {
		return errorAt(file, at["management"], errors.New("management: a supervisor is in the management zone itself: list others there with bootstrap"))
	}
	c := z.Agent()
	c.Self = zone.MustParseID("node=127.0.0.1@tcp") // the check needs an id; any id will do
	if z.Node != "" {
		if c.Self, err = zone.NewID(z.Node, c.Self.Endpoints()...); err != nil {
			return errorAt(file, at["node"], fmt.Errorf("node: %w", err))
		}
	}
	_, err = c.Engine().Filled()
	wrong, ours := errors.AsType[*zone.Error](err)
	if !ours {
		return err
	}
	return errorAt(file, z.blamed(at), errors.New(wrong.Why))
}

// blamed returns the position of the value that makes the section invalid: the section would be
// valid without it. If there is no such value, blamed returns the position of the zone's name.
func (z *Zone) blamed(at map[string]*token.Token) *token.Token {
	for _, suspect := range []struct {
		key   string
		clear func(*Zone)
	}{
		{"name", func(z *Zone) { z.Name = "zone" }},
		{"timeout", func(z *Zone) { z.Timeout = 0 }},
		{"successors", func(z *Zone) { z.Successors = 0 }},
		{"theta", func(z *Zone) { z.Threshold = 0 }},
		{"random", func(z *Zone) { z.Random = 0 }},
		{"heartbeat", func(z *Zone) { z.Heartbeat = 0 }},
		{"aggregation", func(z *Zone) { z.Aggregation = 0 }},
	} {
		without := *z
		suspect.clear(&without)
		c := without.Agent()
		c.Self = zone.MustParseID("node=127.0.0.1@tcp")
		if _, err := c.Engine().Filled(); err == nil && at[suspect.key] != nil {
			return at[suspect.key]
		}
	}
	return at["name"]
}
