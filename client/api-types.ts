/** Types of the API's objects, inferred from the schemas that its document is made of (SPEC H180). */
import type * as quotas from '../control-plane/http/accounts/quotas.ts';
import type * as roles from '../control-plane/http/accounts/roles.ts';
import type * as users from '../control-plane/http/accounts/users.ts';
import type * as audit from '../control-plane/http/json/audit-schemas.ts';
import type * as hosts from '../control-plane/http/json/host-schemas.ts';
import type * as tokens from '../control-plane/http/json/personal-token-schemas.ts';
import type * as requests from '../control-plane/http/json/request-schemas.ts';
import type * as answers from '../control-plane/http/json/schemas.ts';
import type * as secrets from '../control-plane/http/json/secret-schemas.ts';
import type * as services from '../control-plane/http/json/service-schemas.ts';
import type * as shop from '../control-plane/http/json/shop-schemas.ts';
import type * as usage from '../control-plane/http/json/usage-schemas.ts';
import type * as descriptions from '../shared/application-schema.ts';

export type Info = answers.InfoJson;
export type SchedulerStatistics = answers.StatisticsJson;
export type ErrorAnswer = answers.ErrorJson;
export type AuditEntry = audit.AuditEntryJson;

export type Application = descriptions.Application;
export type ServiceDescription = descriptions.ServiceDescription;
export type Execution = answers.ExecutionJsonOfB;
export type Explanation = answers.ExplanationJsonOfB;
export type Reason = Explanation['reasons'][number];
export type QuotaReason = Explanation['quota'][number];
export type Service = services.ServiceJson;
export type ServiceStart = services.StartJson;
export type ServiceUsage = usage.UsageJson;
export type Endpoints = services.EndpointsJson;
export type Discovery = answers.DiscoveryJson;

export type Host = hosts.HostJson;
export type HostDetail = hosts.HostDetailJson;
export type HostService = hosts.HostServiceJson;
export type HostUsage = usage.HostUsageJson;
export type HostOffer = NonNullable<Host['pending']>;
export type HostChanges = requests.HostChangesJson;
export type HostRemoval = hosts.HostRemovalJson;
export type AgentUpdate = hosts.AgentUpdateJson;
export type JoinToken = hosts.JoinTokenJson;
export type JoinTokenFields = requests.JoinTokenFieldsJson;

export type Login = answers.LoginJson<'B'>;
export type User = answers.UserJson;
export type UserFields = users.UserFieldsJson;
export type UserChanges = users.UserChangesJson;
export type Role = answers.RoleJson;
export type RoleFields = roles.RoleFieldsJson;
export type RoleChanges = roles.RoleChangesJson;
export type Quota = answers.QuotaJson;
export type QuotaFields = quotas.QuotaFieldsJson;
export type QuotaChanges = quotas.QuotaChangesJson;

export type PersonalToken = tokens.PersonalTokenJson;
export type PersonalTokenFields = tokens.PersonalTokenFieldsJson;
export type NewPersonalToken = tokens.NewPersonalTokenJson;
export type Secret = secrets.SecretJson;
export type SecretEncryption = secrets.ResealingJson;
export type RegistryCredentials = secrets.CredentialsJson;
export type ShopEntry = shop.ShopEntryJson;
export type ShopEntryDetail = shop.ShopEntryDetailJson;
export type ShopParameter = ShopEntry['parameters'][number];
