package zone

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/gossip/zone"
)

// Member is a member of the zone, or a node that was one.
type Member struct {
	zone.MemberStatus
	State string `json:"state"`          // one of MemberStates
	Gone  *Gone  `json:"gone,omitempty"` // how the node left; nil: it is a member
}

// Gone says when and why a node ceased to be a member.
type Gone struct {
	Time  time.Time      `json:"time"`         // time of the removal, by the wall clock
	Cause zone.Cause     `json:"cause"`        // why the node left: its goodbye, a failure, or another node's correction
	Code  int32          `json:"code"`         // exit code in the node's goodbye
	By    []zone.Witness `json:"by,omitempty"` // some of the nodes that reported the failure
}

// MemberStates are the states of a [Member]. suspected: a node has reported the member, which
// has not refuted that yet. left: the member announced that it leaves. removed: an administrator
// removed it. dead: enough nodes reported it.
var MemberStates = []string{"member", "suspected", "left", "removed", "dead"}

// MemberFilter chooses members.
type MemberFilter struct {
	// State is a regular expression that must match the whole name of the state; empty for all
	// states.
	State string `query:"state"`
	// Tags are attributes that a node must have, each KEY, or KEY=REGEXP, where the expression must
	// match the whole value. Former members have no attributes.
	Tags []string `query:"tag"`
}

// maxExpression bounds the parts of a filter, in bytes.
const maxExpression = 1 << 10

// matcher is a compiled filter.
type matcher struct {
	state *regexp.Regexp
	tags  []tag
}

type tag struct {
	key   string
	value *regexp.Regexp // pattern of the value; nil: any value
}

func (f *MemberFilter) matcher() (m matcher, err error) {
	if f.State != "" {
		if m.state, err = wholly(f.State); err != nil {
			return m, err
		}
		if !slices.ContainsFunc(MemberStates, m.state.MatchString) {
			return m, cli.Hint(cli.Errno(syscall.EINVAL, fmt.Errorf("no member can be in state %q", f.State)), "states are %s", strings.Join(MemberStates, ", "))
		}
	}
	for _, text := range f.Tags {
		t := tag{key: text}
		if key, value, found := strings.Cut(text, "="); found {
			t.key = key
			if t.value, err = wholly(value); err != nil {
				return m, err
			}
		}
		m.tags = append(m.tags, t)
	}
	return m, nil
}

// wholly compiles an expression so that it matches only whole texts.
func wholly(expression string) (*regexp.Regexp, error) {
	if len(expression) > maxExpression {
		return nil, cli.Errno(syscall.EINVAL, fmt.Errorf("an expression of %d bytes: at most %d are taken", len(expression), maxExpression))
	}
	_, err := regexp.Compile(expression) // compiled alone first, because a superfluous parenthesis in it would close the group that is added below
	if err == nil {
		var whole *regexp.Regexp
		if whole, err = regexp.Compile(`\A(?s:` + expression + `)\z`); err == nil {
			return whole, nil
		}
	}
	return nil, cli.Errno(syscall.EINVAL, err)
}

func (m *matcher) hasState(state string) bool {
	return m.state == nil || m.state.MatchString(state)
}

// hasTags reports whether the attributes of a member match all tags of the filter.
func (m *matcher) hasTags(list []zone.Attribute) bool {
	for _, t := range m.tags {
		i := slices.IndexFunc(list, func(a zone.Attribute) bool { return a.Key == t.key })
		if i < 0 || t.value != nil && !t.value.Match(list[i].Value) {
			return false
		}
	}
	return true
}

// Members returns the members that match the filter, in the order of the ring, and after them
// the former members that match, the last to leave first. EINVAL: the filter is invalid.
func (m *Module) Members(f MemberFilter) (list []Member, err error) {
	a, err := m.member()
	if err != nil {
		return nil, err
	}
	match, err := f.matcher()
	if err != nil {
		return nil, err
	}
	members, gone := a.Roster()
	for i := range members {
		m := Member{MemberStatus: members[i], State: "member"}
		if m.Reports > 0 {
			m.State = "suspected"
		}
		if !match.hasState(m.State) {
			continue
		}
		if len(match.tags) > 0 {
			if tags, _ := a.Attributes(m.ID); !match.hasTags(tags) {
				continue
			}
		}
		list = append(list, m)
	}
	now := time.Now()
	for i := range gone {
		if m := goneMember(&gone[i], now); match.hasState(m.State) && match.hasTags(nil) {
			list = append(list, m)
		}
	}
	return list, nil
}

func goneMember(g *zone.GoneStatus, now time.Time) Member {
	m := Member{State: "dead", Gone: &Gone{Time: now.Add(-g.Ago), Cause: g.Cause, Code: g.Code, By: g.By}}
	m.ID, m.Version = g.ID, g.Version
	switch {
	case g.Cause == zone.Said && g.Code == zone.CodeRemoved:
		m.State = "removed"
	case g.Cause == zone.Said:
		m.State = "left"
	}
	return m
}
