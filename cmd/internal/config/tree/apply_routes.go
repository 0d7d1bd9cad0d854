package tree

import "context"

// RoutesAtOnce is how many routes of a file are added by one request. A request with so many routes is
// not longer than the control socket allows.
const RoutesAtOnce = 256

// addRoutes adds the routes at the beginning of items by one request, for which a node changes its table
// only once. The argument most bounds their number. If one of the routes cannot be added, addRoutes tries
// half as many, and so on. It returns how many it has added; 0: the first item has to be applied alone.
func (r *Result) addRoutes(ctx context.Context, to Target, items []Item, most int) (added int) {
	var list []Route
	for _, i := range items[:min(most, len(items))] {
		if i.Route == nil {
			break
		}
		list = append(list, *i.Route)
	}
	for ; len(list) > 1 && ctx.Err() == nil; list = list[:len(list)/2] {
		if to.AddRouteList(ctx, list) == nil {
			r.Done = append(r.Done, items[:len(list)]...)
			return len(list)
		}
		if ctx.Err() != nil {
			r.Perhaps = append(r.Perhaps, items[:len(list)]...)
		}
	}
	return 0
}
