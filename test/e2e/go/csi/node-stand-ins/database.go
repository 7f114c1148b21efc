package main

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// runDatabase stands in for what uses a volume: it writes at its start, and once more at its end, which comes some
// time after it was asked to end. So a volume that was taken from it meanwhile shows.
func runDatabase(arguments []string) error {
	flags := flag.NewFlagSet("database", flag.ExitOnError)
	file := flags.String("file", "/data/journal", "what it writes to")
	stop := flags.Duration("stop", 0, "how long it needs to end")
	_ = flags.Parse(arguments)

	if err := appendLine(*file, "started"); err != nil {
		return err
	}
	onSignal("database", func() {
		time.Sleep(*stop)
		if err := appendLine(*file, "ended"); err != nil {
			log("could not write at the end: %v", err)
			os.Exit(1)
		}
	})
	log("database started")
	select {}
}

func appendLine(file, text string) error {
	opened, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer opened.Close()
	_, err = opened.WriteString(text + "\n")
	return err
}

// runPause holds a pod's namespaces.
func runPause([]string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	<-signals
	return nil
}
