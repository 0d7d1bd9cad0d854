package node

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"ulnet/cmd/internal/config"
)

// handlers replaces the event handlers that differ between the two configurations.
func (r *reload) handlers() error {
	was, will := handlersByName(r.from.Handlers), handlersByName(r.to.Handlers)
	same := func(name string) bool { return reflect.DeepEqual(was[name], will[name]) }
	names := maps.Clone(was)
	maps.Copy(names, will)
	changed := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), same)
	if len(changed) == 0 {
		return nil
	}
	list, err := handlersOf(r.to.Handlers)
	if err != nil {
		return err
	}
	r.last = append(r.last, final{"handlers " + strings.Join(changed, ", "), func() { r.n.handlers.Replace(list, same) }})
	return nil
}

// handlersByName returns handlers without their positions in the file.
func handlersByName(list []config.Handler) map[string]config.Handler {
	m := make(map[string]config.Handler, len(list))
	for _, h := range list {
		h.OnAt, h.UserAt = config.Position{}, config.Position{}
		m[h.Name] = h
	}
	return m
}
