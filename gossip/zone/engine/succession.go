package engine

import (
	"slices"
	"strings"

	"ulnet/gossip/zone/wire"
)

// Attributes that delegates publish to the other members of their own base zone. Their values are
// about the management zone (MS-100).
const (
	// supervisorKey has the id of the supervisor with which a delegate is registered, as text.
	// It is "-" if none of the supervisors that the delegate tried has answered.
	supervisorKey = "zone.supervisor"
	// supervisorsKey has the ids of the supervisors that the active delegate knows, separated
	// by spaces, in its order of preference. A member that becomes a delegate begins with these
	// supervisors and those of its configuration.
	supervisorsKey = "zone.supervisors"
)

// unreached is the value of supervisorKey of a delegate that reaches no supervisor.
const unreached = "-"

// maxPublished bounds the supervisors that are published.
const maxPublished = 16

// mark is the value of a member's attribute supervisorKey.
type mark struct {
	node wire.Ref
	cut  bool // the member reaches no supervisor
}

// succeeds reports whether this delegate replaces the active one, which reaches no supervisor.
// It does so if it is the first in rank of the registered delegates. The former active delegate
// sees the higher activation and resigns. If no delegate is registered, the active one stays
// active in its own zone.
func (d *delegation) succeeds(m *Machine, active wire.Ref) bool {
	if d.own > 0 || !d.serving || !d.answered || !slices.Contains(d.marks, mark{active, true}) {
		return false
	}
	rank := 0
	for _, q := range m.cfg.Table.ballot {
		if q == m.self || rank == m.cfg.Delegates {
			break
		}
		if m.view.has(q) {
			rank++
			if slices.Contains(d.marks, mark{q, false}) {
				return false
			}
		}
	}
	return true
}

// attributes processes attributes that another member wrote.
func (d *delegation) attributes(m *Machine, r *replica, keys []string) {
	for _, key := range keys {
		i := r.find(key)
		there := i >= 0 && !r.entries[i].Deleted
		var value []byte
		if there {
			value = r.entries[i].Value
		}
		switch key {
		case delegateKey:
			d.claim(r.owner, value, there)
		case supervisorKey:
			d.stale = true
			d.marks = slices.DeleteFunc(d.marks, func(k mark) bool { return k.node == r.owner })
			if there {
				d.marks = append(d.marks, mark{r.owner, string(value) == unreached})
			}
		case supervisorsKey:
			d.learn(value)
		}
	}
}

// learn adds supervisors that another member published.
func (d *delegation) learn(value []byte) {
	var list []wire.Named
	for word := range strings.FieldsSeq(string(value)) {
		if id, err := wire.ParseID(word); err == nil && len(list) < maxPublished {
			list = append(list, wire.Named{ID: id})
		}
	}
	if len(list) > 0 {
		d.learned = list
	}
}

// announce publishes the supervisors that the active delegate knows; other nodes delete the
// attribute.
func (d *delegation) announce(m *Machine) {
	var text []string
	for i := 0; d.own > 0 && d.known != 0 && i < min(len(d.supervisors), maxPublished); i++ {
		text = append(text, d.supervisors[i].ID.String())
	}
	d.say(m, &d.told, supervisorsKey, strings.Join(text, " "))
}

// say writes an attribute unless it has that value already; an empty value deletes it.
func (d *delegation) say(m *Machine, was *string, key, value string) {
	if *was == value {
		return
	}
	*was = value
	m.write(wire.Attribute{Key: key, Value: []byte(value), Deleted: value == ""})
}
