package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"syscall"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// configuredNI is an NI of a configuration.
type configuredNI struct {
	on networks.Interface
	ni tree.NI
}

// configuredNIs lists the NIs of a configuration, without those of the loopback network.
func configuredNIs(t *tree.Tree) (list []configuredNI) {
	for _, net := range t.Net {
		for _, ni := range net.NIs {
			if on, err := ni.On(net.Type); err == nil && net.Type != tree.Loopback {
				list = append(list, configuredNI{on, ni})
			}
		}
	}
	return list
}

// wantedNI is an NI that a configuration wants the node to have. Two files may name the same NI in different ways: one
// by its interface, and the other by its NID.
type wantedNI struct {
	configuredNI                      // the entry with the settings of the NI
	names        []networks.Interface // networks and interfaces, or addresses, of all entries for the NI
}

// wantedNIs joins the entries of a configuration that stand for the same NI. As in an import, the last entry that has
// settings counts.
func (l *nidLookup) wantedNIs(t *tree.Tree) (list []wantedNI) {
	at := map[nid.NID]int{}
	for _, c := range configuredNIs(t) {
		id := l.of(c.on, c.ni)
		i, has := at[id]
		if !has || !id.IsValid() {
			at[id] = len(list)
			list = append(list, wantedNI{c, []networks.Interface{c.on}})
			continue
		}
		if !c.sameSettings(configuredNI{}) {
			list[i].configuredNI = c
		}
		list[i].names = append(list[i].names, c.on)
	}
	return list
}

// index returns the index of the NI in a list, -1 if the list does not have it under any of its names.
func (c wantedNI) index(list []wantedNI) int {
	return slices.IndexFunc(list, func(o wantedNI) bool {
		return slices.ContainsFunc(o.names, func(on networks.Interface) bool { return slices.Contains(c.names, on) })
	})
}

// sameSettings reports whether two NIs have the same settings of their own.
func (c configuredNI) sameSettings(o configuredNI) bool {
	a, err := json.Marshal(settingsOf(c.ni))
	b, err2 := json.Marshal(settingsOf(o.ni))
	return err == nil && err2 == nil && bytes.Equal(a, b)
}

// networks adds the steps that change NIs and routes. An NI whose settings change is stopped and started
// again; connections of other NIs stay. New NIs are added before others are removed, because an addition can
// fail and a removal cannot. A new NI with the NID of one that is removed, such as tcp(10.0.0.1) in place of
// tcp(eth0), is added after the removal. An NI that two files name, as tcp(eth0) and as tcp(10.0.0.1), stays while one
// of them names it. Routes are removed before all that: a removed route could not be put back while a new NI of this
// node has the NID of its gateway.
func (r *reload) networks() {
	l := r.n.lookUpNIDs()
	was, will := l.wantedNIs(r.was), l.wantedNIs(r.will)
	key := r.networkKey()
	start := func() {
		for _, c := range will {
			if c.index(was) < 0 {
				r.add(key, fmt.Sprintf("add network %v", c.on), r.addNI(c.configuredNI))
			}
		}
	}
	r.removeRoutes()
	start()
	for _, c := range was {
		switch i := c.index(will); {
		case i < 0:
			r.add(key, fmt.Sprintf("remove network %v", c.on), r.removeNI(c.configuredNI))
		case !c.sameSettings(will[i].configuredNI):
			r.add(key, fmt.Sprintf("stop network %v, whose settings change", c.on), r.removeNI(c.configuredNI))
			r.add(key, fmt.Sprintf("start network %v with other settings", will[i].on), r.addNI(will[i].configuredNI))
		}
	}
	start()
	r.addRoutes()
}

// networkKey returns the key that names the networks of the new configuration.
func (r *reload) networkKey() string {
	for _, key := range []string{"net", "ip2nets"} {
		if r.to.From(key) != "" {
			return key
		}
	}
	return "networks"
}

// removeNI returns the function of a step that stops the NI which c describes. Messages that do not leave
// within removeTimeout are lost, as with 'lnetctl net del'. An NI that a command starts meanwhile stays as it is when
// the step is taken back.
func (r *reload) removeNI(c configuredNI) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		now := tree.Tree{Net: NetTree(r.n.Status(), 0, udsp.List{})}
		has := now.RunsOn(c.on.Net.String(), c.ni)
		if has == nil {
			r.n.cfg.Log.Info("a reload has not stopped an NI, because the node has none on this network and interface", slog.String("network", c.on.String()))
			return nil, nil
		}
		gone, err := r.n.RemoveNet(ctx, RemoveRequest{Net: c.on.Net.String(), NID: has.NID})
		if errors.Is(err, syscall.ENOENT) { // a command has removed the NI meanwhile
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if len(gone.Warnings) > 0 {
			r.n.cfg.Log.Warn("an NI was removed before it had sent its messages, or has not ended in time", slog.Any("ni", has.NID), slog.Any("err", gone.Warnings))
		}
		return func(context.Context) error { _, err := r.startNI(c); return err }, nil
	}
}

// startNI starts the NI that c describes. It does nothing if the node has that NI already.
func (r *reload) startNI(c configuredNI) (started bool, err error) {
	err = r.n.AddNetworks(AddRequest{Networks: c.on.String(), NISettings: settingsOf(c.ni)})
	if errors.Is(err, syscall.EEXIST) {
		return false, nil
	}
	return err == nil, err
}

// addNI returns the function of a step that starts an NI. An NI that the node has already stays as it is.
func (r *reload) addNI(c configuredNI) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		started, err := r.startNI(c)
		if !started {
			return nil, err
		}
		back := r.removeNI(c)
		return func(ctx context.Context) error { _, err := back(ctx); return err }, nil
	}
}
