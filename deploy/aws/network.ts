import {
  GatewayVpcEndpointAwsService,
  IpAddresses,
  type IVpc,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import type { Settings } from './settings.ts';

/** A network of its own in two zones. What goes to S3 and DynamoDB passes neither the internet nor the NAT's meter. */
export class Network extends Construct {
  /** The interface by name: the class and it differ in what may be undefined, which only our strictest check sees. */
  readonly vpc: IVpc;
  /** Where tasks run. */
  readonly tasks: { readonly vpcSubnets: SubnetSelection; readonly assignPublicIp: boolean };

  constructor(scope: Construct, id: string, { exit, vpcCidr }: Settings) {
    super(scope, id);
    const isPublic = exit === 'public';
    // A sixteenth each, for up to two kinds in two zones: there is room for more of both.
    const cidrMask = Number(vpcCidr.split('/')[1]) + 4;
    const open = { name: 'public', subnetType: SubnetType.PUBLIC, cidrMask };
    const inner = { name: 'tasks', subnetType: SubnetType.PRIVATE_WITH_EGRESS, cidrMask };
    const vpc = new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(vpcCidr),
      // By name, they would have to be looked up in an account.
      maxAzs: 2,
      // One: should its zone fail, workers reach no site for a while, and the ledger waits. Another costs as much again.
      natGateways: isPublic ? 0 : 1,
      subnetConfiguration: isPublic ? [open] : [open, inner],
      gatewayEndpoints: {
        S3: { service: GatewayVpcEndpointAwsService.S3 },
        DynamoDB: { service: GatewayVpcEndpointAwsService.DYNAMODB },
      },
      // It would need a function of its own, with rights to change security groups.
      restrictDefaultSecurityGroup: false,
    });
    this.vpc = vpc as IVpc;
    const subnetType = isPublic ? SubnetType.PUBLIC : SubnetType.PRIVATE_WITH_EGRESS;
    this.tasks = { vpcSubnets: { subnetType }, assignPublicIp: isPublic };
  }
}
