package tree

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// applySettings applies the settings of an item: numbers of buffers all or none. Del changes only two
// settings: a router becomes an ordinary node, and the NUMA range becomes 0.
func applySettings(ctx context.Context, to Target, v Verb, i Item) []*Error {
	if i.Buffers != nil && v != Del {
		return setBuffers(ctx, to, i)
	}
	for _, s := range i.Settings() {
		switch {
		case s.Name == ShownOnly: // skipped, as the setting follows from others
			continue
		case v == Del && s.Name != "routing" && s.Name != "numa_range":
			continue
		case v == Del:
			s.Value = 0
		}
		if err := to.Set(ctx, s); err != nil {
			return explain(i, err, fmt.Sprintf("cannot set %s to %d", s.Name, s.Value))
		}
	}
	return nil
}

func setBuffers(ctx context.Context, to Target, i Item) []*Error {
	list := i.Settings()
	var texts []string
	for _, s := range list {
		texts = append(texts, fmt.Sprintf("%s to %d", s.Name, s.Value))
	}
	return explain(i, to.SetTogether(ctx, list), "cannot set "+strings.Join(texts, ", "))
}

// dependent lists the settings whose values limit each other: a value can be invalid because of the value that
// another of these settings has on the node.
var dependent = []string{"retry_count", "transaction_timeout", "health_sensitivity"}

// setTogether applies the first of the remaining items of the section global, which could not be applied alone,
// together with those that come later in the file and on which it may depend: all or none. It returns those items
// and their error, which refers to the line of the setting that the node names. If there are no such items, it
// returns the first item and the errors that it had alone.
func setTogether(ctx context.Context, to Target, rest []Item, alone []*Error) (items []Item, errs []*Error) {
	var list []Setting
	for _, i := range rest {
		if i.Setting != nil && slices.Contains(dependent, i.Setting.Name) {
			items, list = append(items, i), append(list, *i.Setting)
		} else if len(list) == 0 {
			break
		}
	}
	if len(list) < 2 {
		return rest[:1], alone
	}
	err := to.SetTogether(ctx, list)
	wrong := items[0]
	for _, i := range items {
		if err != nil && strings.HasPrefix(err.Error(), i.Setting.Name+" ") {
			wrong = i
		}
	}
	return items, explain(wrong, err, fmt.Sprintf("cannot set %s to %d", wrong.Setting.Name, wrong.Setting.Value))
}

// isSet reports whether an item was applied already, together with an earlier one.
func (r *Result) isSet(i Item) bool {
	return i.Setting != nil && slices.ContainsFunc(r.Done, func(done Item) bool { return done.Setting == i.Setting })
}

// Settings lists the settings of an item by their names.
func (i Item) Settings() (list []Setting) {
	set := func(name string, n *int) {
		if n != nil {
			list = append(list, Setting{name, int64(*n)})
		}
	}
	switch {
	case i.Setting != nil:
		return []Setting{*i.Setting}
	case i.Buffers != nil:
		set("tiny_buffers", i.Buffers.Tiny)
		set("small_buffers", i.Buffers.Small)
		set("large_buffers", i.Buffers.Large)
	case i.Routing != nil:
		if i.Routing.Enable != nil {
			set("routing", new(map[bool]int{true: 1}[i.Routing.IsRouter()]))
		}
	}
	return list
}
