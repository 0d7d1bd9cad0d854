package main

import (
	"errors"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// missingRouteWords returns the error for a route of which the network or the gateway is
// missing.
func missingRouteWords(net, gateway string) error {
	var missing []string
	if net == "" {
		missing = append(missing, "net")
	}
	if gateway == "" {
		missing = append(missing, "gateway")
	}
	if len(missing) == 0 {
		return nil
	}
	return textError(exitInvalid, nil, "missing mandatory parameters:'%s'", strings.Join(missing, " , ")).onStdout()
}

// checkRouteWords returns an error if there are too many routes, or one of a network and a gateway that the node
// would refuse as well.
func checkRouteWords(section string, nets, gateways []string) error {
	if count := len(nets) * len(gateways); count > route.MaxRoutes {
		return netlinkError(section, "route", -int(syscall.EINVAL), invalidRoute, cli.Usagef("--net and --gateway name %d routes: want at most %d", count, route.MaxRoutes))
	}
	for _, text := range nets {
		net, err := nid.ParseNet(text)
		if err != nil {
			return badRouteNet(section, err)
		}
		if net.Type() == nid.Lo && section == "add" {
			return netlinkError(section, "route", -int(syscall.EACCES), "setting @lo not allowed", cli.Hint(errLoRoute, hintRoute))
		}
	}
	for _, text := range gateways {
		if _, err := nid.Parse(text); err != nil {
			return badGateway(section, text, err)
		}
	}
	return nil
}

var errLoRoute = errors.New("lo belongs to every node: want another net")

// invalidRoute is the text of the kernel's tool for a route that cannot be added for most reasons.
const invalidRoute = "invalid settings for route creation"

const hintRoute = "'lnetctl route show' lists the routes, 'lnetctl net show' the networks of the node"

// errnoAny is the errno that the kernel's tool reports for a network that it cannot parse.
const errnoAny = -6

func badRouteNet(section string, err error) error {
	return netlinkError(section, "route", errnoAny, "setting LNET_NET_ANY not allowed", cli.Usagef("--net: %w", err))
}

func badGateway(section, text string, err error) error {
	return badNIDs(section, "route", text, cli.Usagef("--gateway: %w", err))
}

// badNIDs returns the error for a text that is no list of NIDs, for which the kernel's tool has
// two wordings.
func badNIDs(section, item, text string, err error) error {
	descr := `"Unable to parse nidlist: no valid NIDs in string"`
	if strings.Contains(text, "@") {
		descr = `"Unable to parse nidlist: invalid NID in nidstr"`
	}
	return netlinkError(section, item, -int(syscall.EINVAL), descr, err)
}

// routeError gives an error of the node the text of the kernel's tool.
func routeError(section string, err error) error {
	descr := "failed to delete route"
	if section == "add" {
		switch errnoOf(err) {
		case syscall.EEXIST:
			descr = "Route already exists or the specified network is local"
		case syscall.EHOSTUNREACH:
			descr = "No interface configured on the same net as gateway"
		default:
			descr = invalidRoute
		}
	}
	return failing(err, section, "route", descr)
}
