package program

import (
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// destroyers are the commands of which some, or any, use is R4.
func destroyers(m map[string]Rule) {
	asks(m, finding.WipesDisk, `mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs mke2fs mkswap wipefs shred srm wipe fdisk sfdisk
		gdisk sgdisk cfdisk parted blkdiscard hdparm cryptsetup lvremove vgremove pvremove dmsetup mdadm badblocks diskpart`)
	asks(m, finding.StopsMachine, "shutdown reboot halt poweroff kexec")
	asks(m, finding.ChangesAccounts, "useradd adduser userdel deluser usermod groupadd groupdel delgroup groupmod gpasswd passwd chpasswd visudo vipw chsh dscl")
	asks(m, finding.DropsData, "dropdb dropuser")
	asks(m, finding.KillsEverything, "killall5")
	asks(m, finding.StopsProcess, "killall pkill xkill skill")
	m["format"] = func(x *Call, _ string, args []workspace.Word) {
		x.Add(finding.UnknownCommand)
		if len(args) > 0 && workspace.WindowsPath(args[0].Text) {
			x.Add(finding.WipesDisk)
		}
	}
	m["init"], m["telinit"] = runlevel, runlevel
	m["kill"] = kill
	m["crontab"] = crontab

	verb := func(names string, floor, worst finding.Code, verbs string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = func(x *Call, _ string, args []workspace.Word) {
				x.Add(floor)
				x.verbs(args, worst, verbs)
			}
		}
	}
	verb("iptables ip6tables ebtables arptables", finding.ChangesNetwork, finding.DropsFirewall, "-F --flush -X --delete-chain -P --policy -Z")
	verb("nft pfctl ipfw", finding.ChangesNetwork, finding.DropsFirewall, "flush -F -d delete")
	verb("ufw", finding.ChangesNetwork, finding.DropsFirewall, "disable reset")
	verb("ip ifconfig route nmcli firewall-cmd tc networksetup netplan", finding.ChangesNetwork, finding.DropsFirewall, "flush")
	verb("systemctl", finding.ChangesServices, finding.StopsMachine, "poweroff reboot halt kexec emergency rescue")
	verb("service launchctl initctl rc-service supervisorctl pm2", finding.ChangesServices, finding.StopsMachine, "poweroff reboot")
	verb("setenforce sysctl modprobe insmod rmmod apparmor_parser auditctl csrutil spctl nvram", finding.ChangesServices, finding.StopsMachine, "poweroff")
	verb("mount umount swapoff losetup", finding.ChangesServices, finding.WipesDisk, "--move")
	verb("zfs zpool btrfs diskutil tmutil hdiutil", finding.ChangesServices, finding.WipesDisk,
		"destroy delete rollback labelclear erase* eraseDisk partitionDisk zeroDisk secureErase reformat deleteContainer")
	verb("rsync", finding.RemoteCommand, finding.RecursiveDelete, "--delete* --del --remove-source-files")
	verb("psql mysql mariadb sqlite3 sqlcmd mongosh mongo cqlsh clickhouse-client duckdb sqlplus mysqladmin cockroach pgcli mycli", finding.DatabaseClient, finding.DropsData, "drop")
	verb("redis-cli valkey-cli keydb-cli", finding.DatabaseClient, finding.DropsData, "flushall FLUSHALL flushdb FLUSHDB FlushAll FlushDB shutdown SHUTDOWN")
}

// verbs adds c when one of the words is one of the verbs; "erase*" goes on.
func (x *Call) verbs(args []workspace.Word, c finding.Code, verbs string) {
	for v := range strings.FieldsSeq(verbs) {
		for _, w := range args {
			if WordMatches(w.Text, v) && (w.Kind == workspace.Literal || strings.HasSuffix(v, "*")) {
				x.Add(c)
			}
		}
	}
}

// runlevel judges init, which is also a word of many other programs.
func runlevel(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.ChangesServices)
	x.verbs(args, finding.StopsMachine, "0 1 6 s S")
}

// kill stops processes; -1 as a process is all of them, and 1 is the machine.
func kill(x *Call, _ string, args []workspace.Word) {
	if len(args) > 0 && (args[0].Is("-l") || args[0].Is("-L")) {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	x.Add(finding.StopsProcess)
	signal := false
	for i, w := range args {
		switch {
		case w.Is("-s") || w.Is("-n") || w.Is("--"):
			signal = true
		case !signal && i == 0 && strings.HasPrefix(w.Text, "-") && !(len(args) == 1):
			signal = true
		case w.Is("-1"), w.Is("1"), w.Is("0"), w.Is("-0"):
			x.Add(finding.KillsEverything)
		}
	}
}

// crontab shows the schedule with -l; -r removes it.
func crontab(x *Call, _ string, args []workspace.Word) {
	if len(args) == 1 && args[0].Is("-l") {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	x.Add(finding.ChangesSchedule)
	for _, w := range args {
		if len(w.Text) > 1 && w.Text[0] == '-' && strings.Contains(w.Text, "r") {
			x.Add(finding.RemovesSchedule)
		}
	}
}

// remotes are the clients of clouds, clusters and containers.
func remotes(m map[string]Rule) {
	verb := func(names string, floor, worst finding.Code, verbs string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = func(x *Call, _ string, args []workspace.Word) {
				if x.version(n, args) {
					return
				}
				x.Add(floor)
				x.verbs(args, worst, verbs)
			}
		}
	}
	verb("aws gcloud gsutil bq az doctl linode-cli hcloud oci ibmcloud scw openstack", finding.RemoteSystem, finding.DestroysInfrastructure,
		"delete* terminate* remove* destroy* purge* rm rb drop* deregister* revoke* stop-* reset* kill --delete")
	verb("terraform tofu terragrunt cdktf", finding.RemoteSystem, finding.DestroysInfrastructure, "destroy apply taint rm delete force-unlock")
	verb("pulumi", finding.RemoteSystem, finding.DestroysInfrastructure, "destroy up delete rm")
	verb("cdk serverless sls sam eksctl kops copilot nomad packer vagrant", finding.RemoteSystem, finding.DestroysInfrastructure, "destroy deploy delete remove rm")
	verb("kubectl oc k3s k9s microk8s", finding.RemoteSystem, finding.DestroysInfrastructure, "delete drain evict --force --prune --replicas=0")
	verb("helm helmfile argocd flux istioctl", finding.RemoteSystem, finding.DestroysInfrastructure, "uninstall delete del rollback destroy")
	verb("heroku fly flyctl vercel netlify railway wrangler firebase supabase cf render", finding.RemoteSystem, finding.DestroysInfrastructure,
		"apps:destroy destroy delete rm remove pg:reset reset *:delete firestore:delete functions:delete")
	verb("vault consul etcdctl op bw pass doppler", finding.RemoteSystem, finding.DestroysInfrastructure, "delete del destroy rm remove purge disable revoke seal")
	verb("kafka-topics kafka-topics.sh rabbitmqctl nats", finding.RemoteSystem, finding.DropsData, "--delete delete purge* reset rm")
	verb("docker podman nerdctl docker-compose podman-compose lxc incus multipass virsh", finding.RunsContainer, finding.DestroysContainers,
		"prune delete destroy undefine reset")
	base := m["docker"]
	for _, n := range [...]string{"docker", "podman", "nerdctl", "docker-compose", "podman-compose"} {
		m[n] = func(x *Call, name string, args []workspace.Word) {
			base(x, name, args)
			container(x, args)
		}
	}
}

// container judges what a container may reach, and volumes that are removed.
func container(x *Call, args []workspace.Word) {
	has := func(words ...string) bool {
		for _, w := range args {
			for _, v := range words {
				if w.Is(v) {
					return true
				}
			}
		}
		return false
	}
	if has("rm", "rmi", "remove") && (has("-f", "--force", "-fv", "-vf") || has("volume", "network", "image")) || has("down") && has("-v", "--volumes", "--rmi") {
		x.Add(finding.DestroysContainers)
	}
	if has("--privileged", "--pid=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN") {
		x.Add(finding.EscapesContainer)
	}
	for _, w := range args {
		for _, v := range [...]string{w.Text, AfterEquals(w.Text), strings.TrimPrefix(w.Text, "-v")} {
			x.mounts(v)
			if strings.HasPrefix(v, "/:") || strings.HasPrefix(v, "/etc:") || strings.Contains(v, "docker.sock") || strings.Contains(v, "source=/,") || strings.Contains(v, "src=/,") {
				x.Add(finding.EscapesContainer)
			}
		}
	}
}

// mounts looks for the desk in what a container is given: dir:/there, or
// type=bind,source=dir,target=/there.
func (x *Call) mounts(text string) {
	if dir, _, ok := strings.Cut(text, ":"); ok {
		x.DeskTree(workspace.Word{Text: dir})
	}
	for part := range strings.SplitSeq(text, ",") {
		if key, dir, ok := strings.Cut(part, "="); ok && (key == "source" || key == "src") {
			x.DeskTree(workspace.Word{Text: dir})
		}
	}
}
