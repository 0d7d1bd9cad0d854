package main

import (
	"os"
	"testing"

	"ulnet/cmd/internal/scripttest"
)

var tool = scripttest.Tool{Name: "scollctl", Run: run}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }
