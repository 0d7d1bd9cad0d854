package node

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ulnet/cmd/internal/config"
)

// handlers replaces the event handlers that differ.
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
	r.add("handlers", "handlers "+strings.Join(changed, ", "), func(context.Context) (func(context.Context) error, error) {
		before := r.n.handlers.Replace(list, same)
		return func(context.Context) error { r.n.handlers.Replace(before, same); return nil }, nil
	})
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
