package replay_test

import (
	"os"
	"testing"

	"ulnet/cmd/lnetd/internal/lnetdtest"
)

func TestMain(m *testing.M) { os.Exit(lnetdtest.Main(m)) }
