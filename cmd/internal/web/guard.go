package web

import (
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// guard refuses requests before a page sees them.
type guard struct {
	cfg    Config
	hosts  atomic.Pointer[hosts]
	pages  map[string]http.Handler // answers to GET and HEAD by path
	orders map[string]http.Handler // answers to POST by path
}

func newGuard(cfg Config, pages, orders map[string]http.Handler) *guard {
	g := &guard{cfg: cfg, pages: pages, orders: orders}
	g.setHosts(cfg.Hosts)
	return g
}

// hosts are the names and addresses of this host that the Host header of a request may have.
type hosts struct {
	names []string     // names, in lower case
	addrs []netip.Addr // configured addresses, besides the one that a client connects to
}

// setHosts sets the configured names and addresses of this host.
func (g *guard) setHosts(configured []string) {
	h := &hosts{names: []string{"localhost"}}
	own, _ := os.Hostname() // without a hostname there is no name to accept
	short, _, _ := strings.Cut(own, ".")
	for _, name := range append([]string{own, short}, configured...) {
		if name != "" {
			h.names = append(h.names, canonical(name))
		}
	}
	for _, name := range configured {
		if addr, err := netip.ParseAddr(name); err == nil {
			h.addrs = append(h.addrs, addr.Unmap())
		}
	}
	g.hosts.Store(h)
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if status, why := g.refuse(r); status != 0 {
		g.cfg.Log.Debug("HTTP request refused", slog.String("why", why), slog.String("from", r.RemoteAddr))
		if status == http.StatusMethodNotAllowed {
			h.Set("Allow", g.allowed(r))
		}
		h.Set("Connection", "close")
		http.Error(w, why, status)
		return
	}
	if g.isOrder(r) {
		g.orders[r.URL.Path].ServeHTTP(w, r)
		return
	}
	g.pages[r.URL.Path].ServeHTTP(w, r)
}

// isOrder reports whether the path of a request is that of an order. No path
// is that of both an order and a page.
func (g *guard) isOrder(r *http.Request) bool { return g.orders[r.URL.Path] != nil }

// allowed returns the methods that are allowed for the path of a request, as the header Allow has them.
func (g *guard) allowed(r *http.Request) string {
	if g.isOrder(r) {
		return "POST"
	}
	return "GET, HEAD"
}

// refuse returns the status and the text of the answer to a request that is refused, and 0 for
// one that is not.
func (g *guard) refuse(r *http.Request) (status int, why string) {
	switch {
	case !g.isOurs(r):
		return http.StatusForbidden, "the Host header does not name this host: name it by the address that you reach, or add what you call it to metrics_hosts"
	case !sameOrigin(r):
		return http.StatusForbidden, "the request comes from a page of another host"
	case r.URL.RawPath != "": // the path has escapes that it does not need; no page or order has such a path
		return http.StatusNotFound, "there is no such page"
	case g.isOrder(r):
		return refuseOrder(r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "only GET and HEAD"
	case r.ContentLength != 0:
		return http.StatusBadRequest, "no body is expected"
	case g.pages[r.URL.Path] == nil:
		return http.StatusNotFound, "there is no such page"
	}
	return 0, ""
}

// refuseOrder is refuse for the path of an order. A page of another host can send JSON only after it has
// asked with OPTIONS (CORS), which is refused.
func refuseOrder(r *http.Request) (status int, why string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed, "only POST"
	case kind != "application/json":
		return http.StatusUnsupportedMediaType, "the body must be application/json"
	case r.ContentLength < 0 || r.ContentLength > maxOrder:
		return http.StatusRequestEntityTooLarge, "the body must have a length, of 4096 bytes at most"
	}
	return 0, ""
}

// isOurs reports whether the Host header names this host: by the address that the client has
// reached, by a loopback or configured address, or by a configured name, the hostname or localhost.
// For a Unix socket it accepts any header, because no DNS name can lead a browser to that socket.
func (g *guard) isOurs(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || local.Network() == "unix" {
		return ok
	}
	host := canonical(withoutPort(r.Host))
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return slices.Contains(g.hosts.Load().names, host)
	}
	addr = addr.Unmap()
	own, err := netip.ParseAddrPort(local.String())
	return addr.IsLoopback() || slices.Contains(g.hosts.Load().addrs, addr) || err == nil && addr == own.Addr().Unmap().WithZone("")
}

// sameOrigin reports whether the request was not sent by a web page of another host: it has no
// Origin header, or the origin is the host in the Host header.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+r.Host {
			return false
		}
	}
	return true
}

// withoutPort returns the host of a Host header, without the brackets of IPv6.
func withoutPort(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
}

// canonical returns a host name in the form in which names are compared: in lower case, without the dot that
// may end a full DNS name.
func canonical(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
