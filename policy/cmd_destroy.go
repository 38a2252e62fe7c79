package policy

import "strings"

// destroyers are the commands of which some, or any, use is R4.
func destroyers(m map[string]rule) {
	asks(m, wipesDisk, `mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs mke2fs mkswap wipefs shred srm wipe fdisk sfdisk
		gdisk sgdisk cfdisk parted blkdiscard hdparm cryptsetup lvremove vgremove pvremove dmsetup mdadm badblocks diskpart`)
	asks(m, stopsMachine, "shutdown reboot halt poweroff kexec")
	asks(m, changesAccounts, "useradd adduser userdel deluser usermod groupadd groupdel delgroup groupmod gpasswd passwd chpasswd visudo vipw chsh dscl")
	asks(m, dropsData, "dropdb dropuser")
	asks(m, killsEverything, "killall5")
	asks(m, stopsProcess, "killall pkill xkill skill")
	m["format"] = func(s *shell, _ string, args []word) {
		s.found.add(unknownCommand)
		if len(args) > 0 && windowsPath(args[0].text) {
			s.found.add(wipesDisk)
		}
	}
	m["init"], m["telinit"] = runlevel, runlevel
	m["kill"] = kill
	m["crontab"] = crontab

	verb := func(names string, floor, worst code, verbs string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = func(s *shell, _ string, args []word) {
				s.found.add(floor)
				s.verbs(args, worst, verbs)
			}
		}
	}
	verb("iptables ip6tables ebtables arptables", changesNetwork, dropsFirewall, "-F --flush -X --delete-chain -P --policy -Z")
	verb("nft pfctl ipfw", changesNetwork, dropsFirewall, "flush -F -d delete")
	verb("ufw", changesNetwork, dropsFirewall, "disable reset")
	verb("ip ifconfig route nmcli firewall-cmd tc networksetup netplan", changesNetwork, dropsFirewall, "flush")
	verb("systemctl", changesServices, stopsMachine, "poweroff reboot halt kexec emergency rescue")
	verb("service launchctl initctl rc-service supervisorctl pm2", changesServices, stopsMachine, "poweroff reboot")
	verb("setenforce sysctl modprobe insmod rmmod apparmor_parser auditctl csrutil spctl nvram", changesServices, stopsMachine, "poweroff")
	verb("mount umount swapoff losetup", changesServices, wipesDisk, "--move")
	verb("zfs zpool btrfs diskutil tmutil hdiutil", changesServices, wipesDisk,
		"destroy delete rollback labelclear erase* eraseDisk partitionDisk zeroDisk secureErase reformat deleteContainer")
	verb("rsync", remoteCommand, recursiveDelete, "--delete* --del --remove-source-files")
	verb("psql mysql mariadb sqlite3 sqlcmd mongosh mongo cqlsh clickhouse-client duckdb sqlplus mysqladmin cockroach pgcli mycli", databaseClient, dropsData, "drop")
	verb("redis-cli valkey-cli keydb-cli", databaseClient, dropsData, "flushall FLUSHALL flushdb FLUSHDB FlushAll FlushDB shutdown SHUTDOWN")
}

// verbs adds c when one of the words is one of the verbs; "erase*" goes on.
func (s *shell) verbs(args []word, c code, verbs string) {
	for v := range strings.FieldsSeq(verbs) {
		for _, w := range args {
			if wordMatches(w.text, v) && (w.kind == literal || strings.HasSuffix(v, "*")) {
				s.found.add(c)
			}
		}
	}
}

// runlevel judges init, which is also a word of many other programs.
func runlevel(s *shell, _ string, args []word) {
	s.found.add(changesServices)
	s.verbs(args, stopsMachine, "0 1 6 s S")
}

// kill stops processes; -1 as a process is all of them, and 1 is the machine.
func kill(s *shell, _ string, args []word) {
	if len(args) > 0 && (args[0].is("-l") || args[0].is("-L")) {
		s.found.add(readOnlyCommand)
		return
	}
	s.found.add(stopsProcess)
	signal := false
	for i, w := range args {
		switch {
		case w.is("-s") || w.is("-n") || w.is("--"):
			signal = true
		case !signal && i == 0 && strings.HasPrefix(w.text, "-") && !(len(args) == 1):
			signal = true
		case w.is("-1"), w.is("1"), w.is("0"), w.is("-0"):
			s.found.add(killsEverything)
		}
	}
}

// crontab shows the schedule with -l; -r removes it.
func crontab(s *shell, _ string, args []word) {
	if len(args) == 1 && args[0].is("-l") {
		s.found.add(readOnlyCommand)
		return
	}
	s.found.add(changesSchedule)
	for _, w := range args {
		if len(w.text) > 1 && w.text[0] == '-' && strings.Contains(w.text, "r") {
			s.found.add(removesSchedule)
		}
	}
}

// remotes are the clients of clouds, clusters and containers.
func remotes(m map[string]rule) {
	verb := func(names string, floor, worst code, verbs string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = func(s *shell, _ string, args []word) {
				if s.version(n, args) {
					return
				}
				s.found.add(floor)
				s.verbs(args, worst, verbs)
			}
		}
	}
	verb("aws gcloud gsutil bq az doctl linode-cli hcloud oci ibmcloud scw openstack", remoteSystem, destroysInfrastructure,
		"delete* terminate* remove* destroy* purge* rm rb drop* deregister* revoke* stop-* reset* kill --delete")
	verb("terraform tofu terragrunt cdktf", remoteSystem, destroysInfrastructure, "destroy apply taint rm delete force-unlock")
	verb("pulumi", remoteSystem, destroysInfrastructure, "destroy up delete rm")
	verb("cdk serverless sls sam eksctl kops copilot nomad packer vagrant", remoteSystem, destroysInfrastructure, "destroy deploy delete remove rm")
	verb("kubectl oc k3s k9s microk8s", remoteSystem, destroysInfrastructure, "delete drain evict --force --prune --replicas=0")
	verb("helm helmfile argocd flux istioctl", remoteSystem, destroysInfrastructure, "uninstall delete del rollback destroy")
	verb("heroku fly flyctl vercel netlify railway wrangler firebase supabase cf render", remoteSystem, destroysInfrastructure,
		"apps:destroy destroy delete rm remove pg:reset reset *:delete firestore:delete functions:delete")
	verb("gh glab hub tea", remoteSystem, destroysInfrastructure, "delete DELETE -XDELETE --method=DELETE")
	verb("vault consul etcdctl op bw pass doppler", remoteSystem, destroysInfrastructure, "delete del destroy rm remove purge disable revoke seal")
	verb("kafka-topics kafka-topics.sh rabbitmqctl nats", remoteSystem, dropsData, "--delete delete purge* reset rm")
	verb("docker podman nerdctl docker-compose podman-compose lxc incus multipass virsh", runsContainer, destroysContainers,
		"prune delete destroy undefine reset")
	base := m["docker"]
	for _, n := range [...]string{"docker", "podman", "nerdctl", "docker-compose", "podman-compose"} {
		m[n] = func(s *shell, name string, args []word) {
			base(s, name, args)
			container(s, args)
		}
	}
}

// container judges what a container may reach, and volumes that are removed.
func container(s *shell, args []word) {
	has := func(words ...string) bool {
		for _, w := range args {
			for _, v := range words {
				if w.is(v) {
					return true
				}
			}
		}
		return false
	}
	if has("rm", "rmi", "remove") && (has("-f", "--force", "-fv", "-vf") || has("volume", "network", "image")) || has("down") && has("-v", "--volumes", "--rmi") {
		s.found.add(destroysContainers)
	}
	if has("--privileged", "--pid=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN") {
		s.found.add(escapesContainer)
	}
	for _, w := range args {
		for _, v := range [...]string{w.text, afterEquals(w.text), strings.TrimPrefix(w.text, "-v")} {
			s.mounts(v)
			if strings.HasPrefix(v, "/:") || strings.HasPrefix(v, "/etc:") || strings.Contains(v, "docker.sock") || strings.Contains(v, "source=/,") || strings.Contains(v, "src=/,") {
				s.found.add(escapesContainer)
			}
		}
	}
}

// mounts looks for the desk in what a container is given: dir:/there, or
// type=bind,source=dir,target=/there.
func (s *shell) mounts(text string) {
	if dir, _, ok := strings.Cut(text, ":"); ok {
		s.deskTree(word{text: dir})
	}
	for part := range strings.SplitSeq(text, ",") {
		if key, dir, ok := strings.Cut(part, "="); ok && (key == "source" || key == "src") {
			s.deskTree(word{text: dir})
		}
	}
}
